#!/usr/bin/env bash
# What is to be shown on a GPU, for a host that has one and no LLVM.
#   tools/gpu-check.sh pack FOLDER [--arch=sm_90] [--emulate] [--only NAME,...]   here: a folder to carry over (under 60 MiB)
#   FOLDER/gpu-check.sh run [RESULT.json] [--minutes 8] [--only NAME,...]         there: correctness, then rates, as one JSON
# `pack` compiles each case for the GPU and runs the same training on this CPU, whose losses are what the GPU's must be. `run` needs
# Python, and for the peers PyTorch and JAX; it ends when its minutes are over, and another one goes on from there. With --emulate the
# binaries bring a GPU of their own, so that the check itself can be tested. A result of hardware belongs in docs/benchmarks/gpu/,
# whose page tools/gpu_page.py writes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}" in
  pack) exec "$here/../.venv/bin/python" "$here/gpu_check.py" "$@" ;;
  run) exec python3 "$here/gpu_check.py" "$@" ;;
  *) sed -n 's/^# \{0,1\}//p' "$0" | tail -n +2 >&2; exit 2 ;;
esac
