#!/usr/bin/env bash
# Runs the unit tests of the runtime under AddressSanitizer with UndefinedBehaviorSanitizer, then under ThreadSanitizer.
# Each has a build of the runtime of its own (build/asan, build/tsan; no LLVM). Any report fails.
#   tools/check-sanitizers.sh [asan|tsan]...   (default: both)
#   JOBS=N   compile N files at a time (default: the number of cores)
set -euo pipefail
cd "$(dirname "$0")/.."
declare -A flags=(
  [asan]="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
  [tsan]="-fsanitize=thread"
)
[ $# -gt 0 ] || set -- asan tsan
for sanitizer in "$@"; do
  [ -n "${flags[$sanitizer]:-}" ] || { echo "check-sanitizers: '$sanitizer', expected asan or tsan" >&2; exit 2; }
  build=build/$sanitizer
  options="-g1 -fno-omit-frame-pointer ${flags[$sanitizer]}"
  cmake -G Ninja -S runtime -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-19 \
    -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DCMAKE_C_FLAGS="$options" -DCMAKE_CXX_FLAGS="$options" > /dev/null
  ninja -C "$build" -j "${JOBS:-$(nproc)}"
  for tests in "$build"/bin/*-tests; do
    echo "check-sanitizers: $sanitizer: $(basename "$tests")"
    "$tests" --gtest_brief=1
  done
done
