#!/usr/bin/env bash
# The longer check: GPT-2 124M at batch 4 x 64, ten AdamW steps, compiled against PyTorch. In fp32 losses within 1e-5, gradients
# of step 1 within 1e-5 of their rms, equal bits with 1 and 2 threads; in bf16 losses within 5e-3 of fp64 and every gradient's error at
# most twice that of autocast. Resident memory is the plan: at 4 x 64 with files read and written, and at 4 x 1024 under four
# budgets. Needs 3 GB in build/fixtures and 6 GB in build/check.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
tools/build.sh
[ -f build/fixtures/gpt2_124m.hone/golden.safetensors ] || .venv/bin/python test/fixtures/make.py --large
rm -rf build/check/gpt2_124m
export PATH="$PWD/build/bin:$PATH"
.venv/bin/python test/e2e/golden.py build/fixtures/gpt2_124m.hone build/check/gpt2_124m
HONE_FIXTURES=build/fixtures .venv/bin/python test/e2e/precision.py gpt2_124m build/check/gpt2_124m bf16
rm -rf build/check/gpt2_124m
.venv/bin/python test/e2e/resident_memory.py build/check/gpt2_124m build/fixtures/gpt2_124m.hone
rm -rf build/check/gpt2_124m
.venv/bin/python test/e2e/resident_memory.py build/check/gpt2_124m gpt2 --budgets 4 --precision=bf16
