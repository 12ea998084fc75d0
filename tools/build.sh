#!/usr/bin/env bash
# Configures and builds everything in build/ with the packaged clang and LLVM.
#   JOBS=N   compile N files at a time (default: the number of cores)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -f build/build.ninja ]; then
  echo "build: configuring"
  mkdir -p build
  cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 > build/configure.log 2>&1 || {
    cat build/configure.log >&2
    exit 1
  }
fi
ninja -C build -j "${JOBS:-$(nproc)}" all
