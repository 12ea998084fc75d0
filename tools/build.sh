#!/usr/bin/env bash
# Configures and builds with a preset of CMakePresets.json: `release` in build/, another one in build/PRESET.
#   tools/build.sh [PRESET [TARGET...]]   (default: release, and all that the tests need)
#   JOBS=N            compile N files at a time (default: the number of cores)
#   HONE_PREFIX=DIR   LLVM, MLIR, lld, oneDNN and clang are in DIR, as conda lays them out
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
presets=$(cmake --list-presets | sed -n 's/^ *"\([^"]*\)".*/\1/p')
grep -qxF -- "$preset" <<<"$presets" ||
  { echo "build: expected a preset ($(paste -sd' ' <<<"$presets")), got '$preset'" >&2; exit 2; }
folder=build
[ "$preset" = release ] || folder=build/$preset
cache=$folder/CMakeCache.txt
prefix=${HONE_PREFIX:-}
compilers=()
[ -z "$prefix" ] || compilers=("-DCMAKE_C_COMPILER=$prefix/bin/clang" "-DCMAKE_CXX_COMPILER=$prefix/bin/clang++")
# All that was found depends on it.
[ ! -f "$cache" ] || [ "$(sed -n 's/^HONE_PREFIX:PATH=//p' "$cache")" = "$prefix" ] || rm "$cache"
if [ ! -f "$cache" ] || [ ! -f "$folder/build.ninja" ] || [ CMakePresets.json -nt "$folder/build.ninja" ] ||
  ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
  echo "build: configuring $preset"
  mkdir -p "$folder"
  # --fresh: a folder in which something else was configured begins anew.
  cmake --preset "$preset" "${compilers[@]}" > "$folder/configure.log" 2>&1 ||
    cmake --fresh --preset "$preset" "${compilers[@]}" > "$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    exit 1
  }
fi
ninja -C "$folder" -j "${JOBS:-$(nproc)}" "${@:-all}"
