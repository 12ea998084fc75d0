#!/bin/sh
# prefix.sh DIR: a folder in conda's layout, of Debian's LLVM and oneDNN. CMake's files know where they are by their own
# paths, without links; all else is links.
set -e
mkdir -p "$1/bin" "$1/include" "$1/lib/cmake"
llvm=/usr/lib/llvm-19
cp -r $llvm/lib/cmake/. "$1/lib/cmake"
ln -s $llvm/bin/* "$1/bin"
ln -s $llvm/include/* /usr/include/dnnl*.h /usr/include/oneapi /usr/include/gtest "$1/include"
ln -s $llvm/lib/*.a $llvm/lib/*.so* $llvm/lib/clang "$1/lib"
ln -s /usr/lib/*-linux-gnu/libdnnl.so* /usr/lib/*-linux-gnu/libgomp.so.1 "$1/lib"
