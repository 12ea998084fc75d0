#!/usr/bin/env bash
# From a PyTorch model to a binary that trains, in one command: builds Hone, exports a byte-level GPT (10M parameters),
# compiles its whole training step into demo-out/train and trains it on the King James Bible.
#   STEPS=300        optimizer steps
#   PRECISION=fp32   or bf16, fp16 (with loss scaling), bf16-sr
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
steps=${STEPS:-300}
precision=${PRECISION:-fp32}
out=demo-out

tools/setup.sh
tools/build.sh release honec
mkdir -p "$out"
started=$SECONDS

echo "== text"
bible 'Gen1:1-Rev22:21' > "$out/text.txt"
entropy=$(.venv/bin/python tools/bytes-to-tokens.py "$out/text.txt" "$out/train.bin" "$out/val.bin")
echo "$(wc -c < "$out/text.txt") bytes, unigram entropy $entropy nats per byte"

echo "== export"
PYTHONPATH="$root/python_frontend" .venv/bin/python -m hone export \
  python_frontend/examples/bytes_gpt.py:bytes_gpt --batch 4x256 -o "$out/bytes_gpt.hone"

echo "== compile"
build/bin/honec "$out/bytes_gpt.hone" -o "$out/train" --precision="$precision" --time-phases

echo "== train"
"$out/train" --data "$out/train.bin" --val-data "$out/val.bin" --val-every 50 --steps "$steps" \
  --lr 1e-3 --warmup "$((steps / 10))" --schedule cosine --min-lr 1e-4 \
  --save "$out/weights.safetensors" --log "$out/run.jsonl"

.venv/bin/python tools/plot-log.py "$out/run.jsonl" "$out/loss.html" "$entropy=unigram entropy"
.venv/bin/python - "$out/run.jsonl" "$entropy" <<'PYTHON'
import json, sys
losses = [entry["val_loss"] for entry in map(json.loads, open(sys.argv[1])) if "val_loss" in entry]
entropy = float(sys.argv[2])
print(f"validation loss {losses[-1]:.4f} nats per byte, unigram entropy of the text {entropy:.4f}")
sys.exit(0 if losses[-1] < entropy else 1)
PYTHON
echo
echo "after the build: $((SECONDS - started)) s"
echo "binary      $root/$out/train"
echo "weights     $root/$out/weights.safetensors"
echo "log         $root/$out/run.jsonl"
echo "loss curve  $root/$out/loss.html"
