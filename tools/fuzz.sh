#!/usr/bin/env bash
# Feeds mutants of good inputs to what reads from outside.
#   tools/fuzz.sh [MUTANTS [SECONDS [READER...]]]
#   MUTANTS   to each reader, at most (100000)
#   SECONDS   for each reader, at most (600)
#   READER    safetensors, tokens (.npy too), json, program (what an executable says of itself), messages (between
#             ranks), manifests (of checkpoints), graph (MLIR's parser and the verifiers); default: all
# All but manifests and graph are built with the preset `asan`; these two
# with `release`. Each says the count it reached. The first finding ends the run with the mutant's number:
# `FUZZER --first NUMBER --iterations 1` repeats it.
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '2,10s/^# \?//p' "$0"; }
mutants=${1:-100000}
case $mutants in -h | --help) usage; exit 0 ;; esac
seconds=${2:-600}
readers=("${@:3}")
[ ${#readers[@]} -gt 0 ] || readers=(safetensors tokens json program messages manifests graph)
for number in "$mutants" "$seconds"; do
  [[ $number =~ ^[0-9]+$ ]] || { echo "fuzz: '$number', expected a number" >&2; usage >&2; exit 2; }
done
for reader in "${readers[@]}"; do
  [[ $reader =~ ^(safetensors|tokens|json|program|messages|manifests|graph)$ ]] ||
    { echo "fuzz: no reader '$reader'" >&2; usage >&2; exit 2; }
done

build() { # PRESET TARGET
  mkdir -p build
  tools/build.sh "$1" "$2" > build/fuzz.log || { cat build/fuzz.log; exit 1; }
}
for reader in "${readers[@]}"; do
  case $reader in
  graph) preset=release fuzzer=hone-fuzz-graph ;;
  manifests) preset=release fuzzer=honert-tests ;;
  *) preset=asan fuzzer=honert-fuzz-$reader ;;
  esac
  build "$preset" "$fuzzer"
  printf '%s: ' "$reader"
  case $reader in
  manifests)
    HONE_FUZZ_MANIFESTS=$mutants HONE_FUZZ_SECONDS=$seconds "build/bin/$fuzzer" --gtest_filter='Manifests.crafted*' \
      --gtest_brief=1 ;;
  graph)
    "build/bin/$fuzzer" --iterations "$mutants" --seconds "$seconds" \
      test/fixtures/*/graph.mlir test/{IR,Plan,Sharding}/*.mlir test/{Sharding,Transforms}/*/*.mlir \
      test/Transforms/*/*/*.mlir ;;
  *) "build/asan/bin/$fuzzer" --iterations "$mutants" --seconds "$seconds" ;;
  esac
done
