#!/bin/sh
# What is to be shown on a GPU, for a host that has one and no LLVM.
#   tools/gpu-check.sh pack FOLDER [--archive] [--arch=sm_90] [--device=NAME] [--emulate] [--only NAME,...]
#       here: makes a folder to copy to the other host; with --archive also FOLDER.tar.xz, a sixth as large (54 MiB at
#       most)
#   FOLDER/gpu-check.sh run [RESULT.json] [--minutes 8] [--only NAME,...] [--tasks TASK,...] [--causes SECONDS]
#       there: checks correctness, then measures rates; the result is one JSON file
# `pack` compiles each case for the GPU and runs the same training on this CPU; the GPU must give the same losses. `run`
# needs Python, and for the peers PyTorch, torchao, JAX, and llm.c's train_gpt2cu (HONE_LLMC, or on the path). Ranks
# share a GPU where there are too few; that needs nvcc. It ends when its minutes are over, and the next `run` continues
# from there. With --emulate the executables contain an emulated GPU, so that the check itself can be tested. Results of
# hardware belong in docs/benchmarks/gpu/, whose page tools/gpu_page.py writes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}" in
  pack) exec "$here/../.venv/bin/python" "$here/gpu_check.py" "$@" ;;
  run) exec python3 "$here/gpu_check.py" "$@" ;;
  *) sed -n 's/^# \{0,1\}//p' "$0" | tail -n +2 >&2; exit 2 ;;
esac
