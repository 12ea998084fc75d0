#!/usr/bin/env bash
# The longer check:
# - GPT-2 124M at batch 4 x 64, ten AdamW steps, compiled against PyTorch. In fp32: losses within 1e-5, gradients of
#   step 1 within 1e-5 of their rms, equal bits with 1 and 2 threads. In bf16: losses within 5e-3 of fp64, and every
#   gradient's error at most twice that of autocast.
# - Resident memory is the plan: at 4 x 64 with files read and written, and at 4 x 1024 under four budgets.
# - Runtime and interpreter under AddressSanitizer and UndefinedBehaviorSanitizer; threads, loader and collectives under
#   ThreadSanitizer.
# - 1,000 random programs with ids outside their table; 1,000 random sharded graphs, and as many random transformers on
#   random meshes of up to five axes, with stages and their schedules; 1,000 random programs whose collectives begin
#   early; GPT-2 with 96 layers is divided for eight in less than 2 s of processor time; all that
#   test/e2e/ranks-*.test trains in one process is compiled and trained under mpirun, default and exact.
# - What is compiled from text between any two phases is the whole compilation's code, for every fixture, in low
#   precision, on a mesh, within a memory budget, for a GPU.
# - Every model of the catalogue in test/models trains, or is refused, as docs/models.md says; one of each kind also on
#   meshes, in low precision and within memory budgets, as docs/models-matrix.md says.
# - What --search-mesh finds for GPT-3, Llama-3 405B and DeepSeek-V3 is at most 10 % slower in the model than their
#   published plans, and the best plan compiles, for the whole model.
# - Small models trained in fp8 end within 0.5 % of the loss of bf16 (one scale per tensor: 1 %), in at most 1.2 times
#   its time.
# - The site of docs/ and its links; the tour and all tutorials.
# - Random inputs for all that reads from outside (tools/fuzz.sh); ranks that meet while 1,000 strangers knock.
# - Checkpoints: 1,000 kills, 500 rounds of two writers, a power failure after every call, 1,000,000 crafted manifests.
# - The wheel is built; installed, it compiles and trains.
# Needs 3 GB in build/fixtures and 6 GB in build/check.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
tools/build.sh
[ -f build/fixtures/gpt2_124m.hone/golden.safetensors ] || .venv/bin/python test/fixtures/make.py --large
rm -rf build/check/gpt2_124m
export PATH="$PWD/build/bin:$PATH"
tools/check-sanitizers.sh
HONE_WHEEL=$(tools/build-wheel.sh) .venv/bin/python /usr/lib/llvm-19/build/utils/lit/lit.py -v build/test \
  --filter 'tools/wheel'
.venv/bin/python test/e2e/golden.py build/fixtures/gpt2_124m.hone build/check/gpt2_124m
HONE_FIXTURES=build/fixtures .venv/bin/python test/e2e/precision.py gpt2_124m build/check/gpt2_124m bf16
rm -rf build/check/gpt2_124m
.venv/bin/python test/e2e/resident_memory.py build/check/gpt2_124m build/fixtures/gpt2_124m.hone
rm -rf build/check/gpt2_124m
.venv/bin/python test/e2e/resident_memory.py build/check/gpt2_124m gpt2 --budgets 4 --precision=bf16

.venv/bin/python test/e2e/rendezvous_attack.py honert-meet build/check/attack --strangers 1000 --rounds 3

.venv/bin/python test/fuzz/passes.py build/check/passes --graphs 1000
.venv/bin/python test/fuzz/sharded.py build/check/sharded --graphs 1000
.venv/bin/python test/fuzz/meshes.py build/check/meshes --graphs 1000
.venv/bin/python test/fuzz/early.py build/check/early --graphs 1000
.venv/bin/python test/fuzz/ids.py build/check/ids --count 1000
.venv/bin/python test/fixtures/make.py --layers 96 -o build/fixtures
.venv/bin/python test/Sharding/Partition/partition_time.py build/fixtures/gpt2_96l.hone "rep=2,fs=2,tp=2" "fsdp,sp" 2

phases() { .venv/bin/python test/honec/phases.py build/check/phases "$@"; }
phases test/fixtures/*.hone
phases test/fixtures/{gpt2_tiny_dropout,llama_tiny}.hone -- --precision=bf16 --micro-batches=2
phases test/fixtures/llama_tiny.hone -- --mesh=fs=2,tp=2 --recipe=sp
phases test/fixtures/gpt2_tiny.hone -- --memory-budget=400KiB
phases test/fixtures/gpt2_tiny.hone -- --exact
phases test/fixtures/gpt2_tiny.hone -- --target=cuda --arch=sm_90 --emulate --precision=bf16

HONE_MODELS=1 tools/setup.sh
.venv/bin/python test/models/run.py --again --results build/check/models.jsonl
.venv/bin/python test/models/matrix.py --again --results build/check/models-matrix.jsonl

.venv/bin/python tools/mesh_search.py --check
.venv/bin/python tools/mesh_search.py --compile

# Pages: the site, the tour and all tutorials, of which the check leaves some out.
tools/build-site.sh
HONE_LARGE=1 .venv/bin/python /usr/lib/llvm-19/build/utils/lit/lit.py -v build/test/docs
# Meshes and budgets of which the check takes a few.
HONE_LARGE=1 .venv/bin/python /usr/lib/llvm-19/build/utils/lit/lit.py -v --filter='-all\.test' build/test/e2e
# What fp8 costs in loss and time: eight seeds of 300 steps.
.venv/bin/python tools/benchmark-fp8.py --results build/check/fp8.jsonl
# Stages of pipelines with all that they combine with, each schedule.
.venv/bin/python test/fixtures/cached.py build/test/made gpt2_heads llama_heads
.venv/bin/python test/e2e/ranks_matrix.py build/check/matrix all build/test/made
rm -rf build/check/matrix
HONE_LARGE=1 .venv/bin/python -m pytest -q test/python/test_models.py -k pairs_of_settings

# How a program ends when its surroundings end it, and under limits of memory.
.venv/bin/python test/e2e/process_ends.py build/check/ends --trials 200
mkdir -p build/check/limits
honec test/fixtures/gpt2_tiny.hone -o build/check/limits/train
.venv/bin/python -c "open('build/check/limits/data', 'wb').write(bytes(2000))"
.venv/bin/python test/e2e/memory_limits.py build/check/limits build/check/limits/train build/check/limits/data \
  --limits 60 --threads 8
HONE_TINY_MEMORY=500000000 .venv/bin/python test/e2e/memory_limits.py build/check/limits honert-tiny \
  build/check/limits/data \
  --limits 20 --largest 1200 --group 32 --group 100 --group 200 --group 300 --group 400 --group 500 --group 550 \
  --group 700

# A model whose state does not fit into memory beside the rest: 350M with equal bits, and 1.5B within 12 GiB (hours).
.venv/bin/python test/e2e/offload_large.py build/check/offload-350m --layers 24 --width 1024 --heads 16 --limit 6 \
  --steps 3 --compare
.venv/bin/python test/e2e/offload_large.py build/check/offload-1.5b --steps 20
rm -rf build/check/offload-*

one_process() { # TEST MODEL: what the test trains of the model in one process
  sed -e ':join' -e '/\\$/{N;s/ *\\\n# RUN: */ /;b join' -e '}' "test/e2e/$1.test" |
    sed -n "s/.*$2\.hone [^ ]* interpreter \(.*\) | FileCheck.*/\1/p"
}
for model in gpt2 llama; do
  package=build/fixtures/${model}_dropout_shared.hone
  .venv/bin/python test/fixtures/make.py --only "${model}_dropout_shared" -o build/fixtures
  # shellcheck disable=SC2046 # a case is a word
  .venv/bin/python test/e2e/ranks.py "$package" "build/check/ranks-$model" mpi \
    $(one_process "ranks-$model-all" "${model}_dropout_shared")
  # shellcheck disable=SC2046
  .venv/bin/python test/e2e/ranks.py --exact "$package" "build/check/ranks-$model" mpi \
    $(one_process ranks-exact-all "${model}_dropout_shared")
  rm -rf "build/check/ranks-$model"
done

# Every name of a CPU or a GPU is taken or refused.
.venv/bin/python test/honec/arch_names.py test/fixtures/gpt2_untied.hone all
.venv/bin/python test/honec/arch_names.py test/fixtures/gpt2_untied.hone all -- --precision=fp16
.venv/bin/python test/e2e/power_loss.py build/bin/honert-tiny build/check/power-loss
.venv/bin/python test/e2e/checkpoint_writers.py build/bin/honert-tiny build/check/writers --kills 1000 --rounds 500
rm -rf build/check/writers*

# Random inputs, as many as each line says or as come in its seconds.
tools/fuzz.sh 40000000 900 safetensors tokens
tools/fuzz.sh 10000000 600 messages manifests
tools/fuzz.sh 1000000 600 json program graph
