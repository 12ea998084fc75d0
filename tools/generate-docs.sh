#!/usr/bin/env bash
# Writes docs/generated/*.md from the TableGen files and from what the built tools say of their options, the page of
# results on GPUs, and docs/operators.md.
#   generate-docs.sh [DIR]   writes to DIR instead (the check compares it with what is checked in), and compares the
#                            two pages themselves
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-docs/generated}
mkdir -p "$out"

generate() { # PAGE GENERATOR FILE [OPTION...]
  local page=$1 generator=$2 file=$3
  shift 3
  /usr/lib/llvm-19/bin/mlir-tblgen "$generator" "$@" -I include -I /usr/lib/llvm-19/include "include/hone/$file" \
    -o "$out/$page.md"
  rm -f "$out/$page.md.d"
}

generate HoneDialect -gen-dialect-doc IR/HoneAllOps.td -dialect=hone
generate DistDialect -gen-dialect-doc Sharding/IR/DistAllOps.td -dialect=dist
generate PlanDialect -gen-dialect-doc Plan/PlanOps.td -dialect=plan
generate HoneOpInterface -gen-op-interface-docs IR/HoneInterfaces.td
generate DistOpInterfaces -gen-op-interface-docs Sharding/IR/DistInterfaces.td
generate TransformsPasses -gen-pass-doc Transforms/Passes.td
generate ShardingPasses -gen-pass-doc Sharding/Passes.td
generate CodegenPasses -gen-pass-doc Codegen/Passes.td
generate TargetPasses -gen-pass-doc Target/Passes.td
tools/options_pages.py "$out"
tools/gpu_page.py docs/benchmarks/gpu ${1:+--check}
.venv/bin/python tools/operators_page.py docs/operators.md ${1:+--check}
