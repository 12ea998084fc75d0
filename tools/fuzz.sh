#!/usr/bin/env bash
# tools/fuzz.sh [MUTANTS [SECONDS [READER...]]]: feeds mutants of good inputs to what reads files: MUTANTS to each reader
# (100,000), for SECONDS at most (600). READER: safetensors, tokens (.npy too), json and program are the runtime's, built
# with AddressSanitizer and UndefinedBehaviorSanitizer in build/fuzz; graph is MLIR's parser and the verifiers, from build.
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
    folder=build/fuzz fuzzer=honert-fuzz-$reader seeds=()
    # GCC brings the libraries of the sanitizers with it.
    cmake -G Ninja -S runtime -B build/fuzz -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -g1" > /dev/null
  fi
  build "$folder" "$fuzzer"
  printf '%s: ' "$reader"
  "$folder/bin/$fuzzer" --iterations "$mutants" --seconds "$seconds" "${seeds[@]}"
done
