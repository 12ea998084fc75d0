#!/bin/sh
# Makes a shared library to link against, which stands for a library of glibc as release MAX had it: glibc-stub.sh
# READELF CC MAX SONAME OUT [LIBRARY...]. It holds no code, only the names that LIBRARY... export today, each with the
# newest of its versions that is not newer than MAX; what has none is left out. Without a library it is an empty one.
#
# glibc keeps every version of a symbol that it ever had, so a program linked against the stub runs with MAX and with all
# later releases. Releases after 2.33 export from libc.so.6 what was in libpthread, libdl and librt: the loader looks for
# a symbol in all libraries that are loaded, so such a name may carry the version of libc.so.6, but the program must ask
# for those libraries too (by empty stubs), and before libc.so.6: until 2.30 it stops at the library that the version
# names.
set -eu
readelf=$1 cc=$2 max=$3 soname=$4 out=$5
shift 5
if [ $# -gt 0 ]; then "$readelf" --dyn-syms -W "$@"; fi | awk -v max="$max" -v assembly="$out.s" -v script="$out.map" '
  function rank(text,  part) { split(text, part, "."); return part[1] * 1000000 + part[2] * 1000 + part[3] }
  # Num Value Size Type Bind Vis Ndx Name@Version, or @@Version
  $7 != "UND" && $8 ~ /@GLIBC_[0-9]/ {
    split($8, at, /@+GLIBC_/)
    if (rank(at[2]) > rank(max) || (at[1] in version && rank(version[at[1]]) >= rank(at[2]))) next
    version[at[1]] = at[2]
    type[at[1]] = $4
    size[at[1]] = $3
  }
  END {
    print ".section .note.GNU-stack,\"\",@progbits" > assembly
    for (name in version) {
      data = type[name] == "OBJECT"
      print (data ? ".bss" : ".text") "\n.globl " name "\n.type " name "," (data ? "@object" : "@function") > assembly
      print ".balign 64\n" name ": .zero " (data ? size[name] : 1) "\n.size " name "," (data ? size[name] : 1) > assembly
      names[version[name]] = names[version[name]] name ";"
    }
    for (v in names) print "GLIBC_" v " { global: " names[v] " };" > script
  }'
if [ $# -gt 0 ]; then set -- -Wl,--version-script,"$out.map"; fi
"$cc" -shared -nostdlib -fuse-ld=lld -Wl,-soname,"$soname" -Wl,--build-id=none "$@" -o "$out" "$out.s"
rm -f "$out.s" "$out.map"
