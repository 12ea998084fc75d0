#!/usr/bin/env python3
"""Measures how fast programs of honec --with=generate continue a text, beside transformers on the same weights.

  tools/benchmark-generate.py [--layers 12] [--width 768] [--threads 1 2] [--precision fp32 bf16] [--rounds 5]
                              [--tokens 64] [-o docs/benchmarks/generate.md]

The model is a GPT-2 of transformers with random weights; its sizes by default are those of GPT-2 124M. In each round
both systems continue a prompt of 8 tokens greedily, by `--tokens` tokens and by three times as many. The difference of
the two times is that of 2 * `--tokens` tokens, without start, loading of weights and prompt. A figure is the median
over rounds, and the ratio that of the rounds' ratios. transformers keeps keys and values too (its default).
"""

from __future__ import annotations

import argparse
import copy
import datetime
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python_frontend"))
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]


def seconds_of(extend: Callable[[int], None], tokens: int) -> float:
    """Seconds per token, of those between `tokens` and three times as many."""
    times = []
    for count in (tokens, 3 * tokens):
        start = time.perf_counter()
        extend(count)
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / (2 * tokens)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, help="a multiple of 64")
    parser.add_argument("--vocab", type=int, default=50257)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precision", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="where honec is")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="a page to write")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    os.environ["PATH"] = f"{options.bin.resolve()}{os.pathsep}{os.environ['PATH']}"
    try:
        import hone
        import torch
        import transformers
    except ImportError as error:
        sys.exit(f"error: {error}; tools/setup.sh installs it")

    torch.manual_seed(1)
    positions = len(PROMPT) + 3 * options.tokens
    config = transformers.GPT2Config(vocab_size=options.vocab, n_positions=positions, n_embd=options.width,
                                     n_layer=options.layers, n_head=options.width // 64, bos_token_id=None,
                                     eos_token_id=None, embd_pdrop=0, attn_pdrop=0, resid_pdrop=0)
    model = transformers.GPT2LMHeadModel(config).eval()
    parameters = sum(p.numel() for p in model.parameters())

    def loss(model, tokens, targets):
        return torch.nn.functional.cross_entropy(model(tokens).logits.flatten(0, 1), targets.flatten())

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder, "model.hone")
        ids = torch.zeros(1, positions, dtype=torch.long)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        hone.export(model, loss, (ids, ids), optimizer, str(package), weights=True)
        prompt = torch.tensor([PROMPT])
        for precision in options.precision:
            program = pathlib.Path(folder, precision)
            subprocess.run(["honec", package, "--with=generate", f"--precision={precision}", "-o", program], check=True)
            known = copy.deepcopy(model).to(torch.bfloat16 if precision == "bf16" else torch.float32)
            for threads in options.threads:
                torch.set_num_threads(threads)

                def binary(count: int) -> None:
                    subprocess.run([program, "--prompt-ids", ",".join(map(str, PROMPT)), "--temperature", "0",
                                    "--tokens-out", str(count), "--threads", str(threads)],
                                   check=True, stdout=subprocess.DEVNULL)

                def peer(count: int) -> None:
                    with torch.inference_mode():
                        known.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count,
                                       do_sample=False, pad_token_id=0)

                peer(2)  # what it makes once
                pairs = [(seconds_of(binary, options.tokens), seconds_of(peer, options.tokens))
                         for _ in range(options.rounds)]
                own = statistics.median(1e3 * pair[0] for pair in pairs)
                other = statistics.median(1e3 * pair[1] for pair in pairs)
                ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
                times = " | ".join(f"{each:.1f} | {1e3 / each:.0f}" for each in (own, other))
                rows.append(f"| {precision} | {threads} | {times} | {ratio:.2f} |")
                print(rows[-1], flush=True)
    if options.output:
        options.output.write_text(f"""# Text: tokens per second

Made by `tools/benchmark-generate.py` on {datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores; a GPT-2
of {parameters / 1e6:.0f}M parameters ({options.layers} layers, width {options.width}), one text, greedy,
{options.rounds} rounds of both systems in turn. Times are per token, without start and prompt; *faster* is the median
of the rounds' ratios. PyTorch {torch.__version__} and transformers {transformers.__version__} keep keys and values as
Hone's programs do ([generation](../rationale/generation.md)).

| precision | threads | Hone, ms | tokens/s | transformers, ms | tokens/s | faster |
|---|---|---|---|---|---|---|
""" + "\n".join(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
