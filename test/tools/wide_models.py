"""Exports models as wide as real ones, with few layers: kernels are made once per distinct launch.

    wide_models.py gpt2|llama LAYERS BATCHxLENGTH PACKAGE.hone

GPT-2 124M, and a Llama-style model of 1B parameters at 16 layers. Weights are left to the program.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend/examples")]
import gpt2
import hone
import llama
import torch


def training(model: str, layers: int, batch: int, length: int) -> hone.Training:
    if model == "gpt2":
        config = gpt2.Config(gelu="tanh", layers=layers)
        with torch.device("meta"):
            return gpt2.training(config, batch, length)
    config = llama.Config(vocab=128256, context=length, layers=layers, heads=32, key_heads=8, width=2048, hidden=8192,
                          theta=500000.0)
    # The rotary tables must have their values. Memory of weights that nobody writes is never there.
    for name in ("normal_", "kaiming_uniform_"):
        setattr(torch.nn.init, name, lambda tensor, *arguments, **options: tensor)
    return llama.training(config, batch, length)


model, layers, shape, package = sys.argv[1:]
made = training(model, int(layers), *map(int, shape.split("x")))
init = {"*.bias": {"dist": "constant", "value": 0.0}, "*norm*.weight": {"dist": "constant", "value": 1.0},
        "*ln_*.weight": {"dist": "constant", "value": 1.0}, "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
hone.export(made.model, made.loss_fn, made.example_batch, optimizer=made.optimizer, clip=made.clip, out=package, init=init)
