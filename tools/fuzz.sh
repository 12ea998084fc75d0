#!/usr/bin/env bash
# tools/fuzz.sh [MUTANTS [SECONDS [READER...]]]: feeds mutants of good inputs to what reads files: MUTANTS to each reader
# (100,000), for SECONDS at most (600). READER: safetensors, tokens (.npy too), json and program are the runtime's, built
# with AddressSanitizer and UndefinedBehaviorSanitizer in build/asan; graph is MLIR's parser and the verifiers, from build.
# The first finding ends the run with the mutant's number: FUZZER --first NUMBER --iterations 1 repeats it.
set -euo pipefail
cd "$(dirname "$0")/.."
mutants=${1:-100000}
seconds=${2:-600}
readers=("${@:3}")
[ ${#readers[@]} -gt 0 ] || readers=(safetensors tokens json program graph)

build() { # FOLDER TARGET
  ninja -C "$1" "$2" > "$1/fuzz.log" || { cat "$1/fuzz.log"; exit 1; }
}
for reader in "${readers[@]}"; do
  if [ "$reader" = graph ]; then
    folder=build fuzzer=hone-fuzz-graph
    seeds=(test/fixtures/*/graph.mlir test/IR/*.mlir test/Dist/*.mlir test/Transforms/*/*.mlir test/Plan/*.mlir)
  else
    folder=build/asan fuzzer=honert-fuzz-$reader seeds=()
    # As tools/check-sanitizers.sh builds it.
    options="-g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
    cmake -G Ninja -S runtime -B build/asan -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-19 \
      -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
      -DCMAKE_C_FLAGS="$options" -DCMAKE_CXX_FLAGS="$options" > /dev/null
  fi
  build "$folder" "$fuzzer"
  printf '%s: ' "$reader"
  "$folder/bin/$fuzzer" --iterations "$mutants" --seconds "$seconds" "${seeds[@]}"
done
