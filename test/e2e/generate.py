#!/usr/bin/env python3
"""Compares texts of compiled programs with those of transformers: generate.py WORKDIR.

For tiny GPT-2, Llama and Qwen2 models with random weights, `./train --prompt-ids ... --temperature 0` must give the
tokens of `model.generate`, 200 of them in fp32, with 1 and with 2 threads, and hone-run (the interpreter) the first 20.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

import hone

POSITIONS, TOKENS, PROMPT = 208, 200, [3, 1, 4, 1, 5, 9, 2, 6]
SIZES = {"vocab_size": 61, "bos_token_id": None, "eos_token_id": None}
WIDTHS = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "max_position_embeddings": POSITIONS}
MODELS = {
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(n_positions=POSITIONS, n_embd=32, n_layer=2, n_head=4, **SIZES)),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**WIDTHS, **SIZES)),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**WIDTHS, **SIZES)),
}


def loss(model, tokens, targets):
    logits = model(tokens).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def output(*words: object) -> str:
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout.strip()


def check(work: Path, name: str) -> None:
    torch.manual_seed(7)
    model = MODELS[name]().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # logits far apart, so that the likeliest does not depend on rounding
            if parameter.dim() > 1:
                parameter.mul_(8)
    package, binary = work / f"{name}.hone", work / name
    ids = torch.zeros(2, POSITIONS, dtype=torch.long)
    hone.export(model, loss, (ids, ids), torch.optim.AdamW(model.parameters(), lr=1e-3), str(package), weights=True)
    prompt = torch.tensor([PROMPT])
    made = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=TOKENS, do_sample=False,
                          pad_token_id=0)[0].tolist()
    output("honec", package, "--with=generate", "-o", binary)
    flags = ("--prompt-ids", ",".join(map(str, PROMPT)), "--temperature", "0", "--tokens-out")
    for threads in (1, 2):
        found = list(map(int, output(binary, *flags, TOKENS, "--threads", threads).split(",")))
        same = sum(a == b for a, b in zip(found, made, strict=True))
        assert found == made, f"{name}: {same} of {len(made)} tokens are those of transformers"
    found = list(map(int, output("hone-run", package, "--with=generate", *flags, 20).split(",")))
    assert found == made[: len(found)] and len(found) == len(PROMPT) + 20, f"{name}: the interpreter has other tokens"
    print(f"{name}: {TOKENS} tokens, {len(set(made))} of them distinct")


def main() -> None:
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        check(work, name)


if __name__ == "__main__":
    main()
