#!/usr/bin/env bash
# Runs unit tests under AddressSanitizer with UndefinedBehaviorSanitizer (preset `asan`: the runtime and the
# interpreter), then under ThreadSanitizer (preset `tsan`: the runtime, whose threads, loader and collectives are all
# the threads there are). Each has a build of its own. Any report fails.
#   tools/check-sanitizers.sh [asan|tsan]...   (default: both)
#   JOBS=N   compile N files at a time (default: the number of cores)
set -euo pipefail
cd "$(dirname "$0")/.."
declare -A suites=(
  [asan]="honert-tests honert-cuda-tests hone-unit-tests"
  [tsan]="honert-tests honert-cuda-tests"
)
[ $# -gt 0 ] || set -- asan tsan
for sanitizer in "$@"; do
  [ -n "${suites[$sanitizer]:-}" ] || { echo "check-sanitizers: expected asan or tsan, got '$sanitizer'" >&2; exit 2; }
  read -ra tests <<<"${suites[$sanitizer]}"
  tools/build.sh "$sanitizer" "${tests[@]}"
  for suite in "${tests[@]}"; do
    echo "check-sanitizers: $sanitizer: $suite"
    "build/$sanitizer/bin/$suite" --gtest_brief=1
  done
done
