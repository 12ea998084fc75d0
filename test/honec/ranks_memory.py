"""Compares what a rank keeps with the formulas of the techniques: ranks_memory.py PACKAGE DIR.

State is 16 bytes per parameter in fp32: 4 of weights, 4 of gradients that micro-batches add up, 8 of Adam's moments; in bf16 18,
with 2 of weights in bf16 besides. Among d ranks all of it is whole (data parallel); or the moments are 1/d, and in bf16 the f32
weights that only the update reads (ZeRO-1); gradients too (ZeRO-2); weights too (ZeRO-3). With tensor parallelism everything is
1/t but what has the width of the residual stream; a vector that it divides is not divided again.

Activations are those of Korthikanti et al. (2022), table 2, without dropout's masks and the scores that fused attention makes again.
In elements of the stream, tokens times width, a layer keeps 12 that tensor parallelism divides (query, key and value, what attention
makes, twice the hidden 4) and 4 that it does not: what its two norms scale, in f32, and the inputs of two products; before the
head a norm and an input more. Ranks that share the batch divide all of it. Sequence parallelism divides what norms keep. The
inputs of products the paper divides, too, and gathers them again for the backward pass (34/t bytes); here they stay (30/t + 4).

What a plan keeps is exact but for the alignment of tensors to 64 bytes, and the few numbers per token that norms and
the loss keep: 1 %.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

RANKS = 8
HEADS = 8
# Parameters with the width of the residual stream: norms, and biases behind a sum of tensor-parallel ranks.
STREAM = ("ln_1.", "ln_2.", "ln_f.", "proj.bias", "down.bias")
# Vectors that they divide.
DIVIDED = ("qkv.bias", "up.bias")
# What the forward pass reads in f32 in bf16, too, and what it reads in bf16.
WIDE = (*STREAM, "wpe.", "wte.")
NARROW = ("wte.", "qkv.", "up.", "proj.weight", "down.weight")


def is_any(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name for part in parts)


def parameters(package: str) -> dict[str, int]:
    """Elements by name."""
    with open(os.path.join(package, "manifest.json"), encoding="utf-8") as file:
        arguments = json.load(file)["arguments"]
    return {a["fqn"]: math.prod(a["shape"]) for a in arguments if a["kind"] == "param"}


def wanted(sizes: dict[str, int], narrow: bool, level: int, parts: int, tensor: int) -> dict[str, float]:
    """Bytes of a rank: state of ZeRO's `level` among `parts` ranks, each of which `tensor` ranks share."""
    state = {"weights": 0.0, "gradients": 0.0, "optimizer": 0.0}
    for name, size in sizes.items():
        share = size if is_any(name, STREAM) else size / tensor
        d = 1 if tensor > 1 and is_any(name, DIVIDED) else parts
        only_update = narrow and not is_any(name, WIDE)
        state["weights"] += 4 * share / (d if level == 3 or (level > 0 and only_update) else 1)
        if narrow and is_any(name, NARROW):
            state["weights"] += 2 * share / (d if level == 3 else 1)
        state["gradients"] += 4 * share / (d if level >= 2 else 1)
        state["optimizer"] += 8 * share / (d if level >= 1 else 1)
    return state


def wanted_activations(package: str, narrow: bool, batch_parts: int, tensor: int, sequence: bool) -> float:
    """Bytes of a rank before the backward pass, of ranks that divide the batch by `batch_parts` and layers by `tensor`."""
    with open(os.path.join(package, "manifest.json"), encoding="utf-8") as file:
        arguments = {a["fqn"]: a["shape"] for a in json.load(file)["arguments"]}
    (vocabulary, width), tokens = arguments["wte.weight"], math.prod(arguments["tokens"])
    layers = sum(name.endswith("ln_1.weight") for name in arguments)
    size = 2 if narrow else 4  # of what products read and make; norms, and attention's sums, are f32
    norms, inputs = (2 * layers + 1) * 4 * width, (2 * layers + 1) * size * width
    divided = layers * (12 * size * width + 4 * HEADS) + size * vocabulary
    return tokens / batch_parts * (norms / (tensor if sequence else 1) + inputs + divided / tensor)


def plan(package: str, report: str, *options: str) -> None:
    command = ["honec", package, "--dry-run", f"--report={report}", "--pad=off", "--micro-batches=2", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read(report: str) -> dict[str, Any]:
    with open(os.path.join(report, "report.json"), encoding="utf-8") as file:
        return json.load(file)


def planned_activations(report: str) -> int:
    """The most bytes of activations that are alive at a launch."""
    return max(launch["live"].get("activations", 0) for launch in read(report)["launches"])


def planned(package: str, report: str, *options: str) -> dict[str, int]:
    """Bytes of one rank's state in the plan."""
    plan(package, report, *options)
    state = read(report)["memory"]["state"]
    return {
        "weights": state["param"] + state.get("working_copy", 0),
        "gradients": state["grad"],
        "optimizer": state["opt"],
    }


# Mesh, recipe, level, ranks that divide state, ranks of the tensor axis.
CASES = (
    ("dp=8", "ddp", 0, 1, 1),
    ("fs=8", "zero1", 1, RANKS, 1),
    ("fs=8", "zero2", 2, RANKS, 1),
    ("fs=8", "zero3", 3, RANKS, 1),
    ("rep=2,fs=4", "zero3", 3, 4, 1),
    ("tp=8", "sp", 0, 1, RANKS),
    ("fs=8,tp=8", "zero3", 3, RANKS, RANKS),
)

# Mesh, recipe, ranks that share the batch, ranks of the tensor axis, whether they divide sequences.
ACTIVATIONS = (
    ("", "", 1, 1, False),
    ("dp=2", "ddp", 2, 1, False),
    ("tp=2", "", 1, 2, False),
    ("tp=2", "sp", 1, 2, True),
    ("tp=8", "sp", 1, 8, True),
)


def main(argv: list[str]) -> int:
    package, folder = argv[1:]
    sizes = parameters(package)
    wrong = 0

    def compare(case: str, found: int, size: float) -> int:
        share = found / size
        print(f"{case}: {found} bytes, {share:.4f} of the formula")
        return not 0.99 <= share <= 1.01

    for precision in ("fp32", "bf16"):
        for mesh, recipe, level, parts, tensor in CASES:
            formula = wanted(sizes, precision == "bf16", level, parts, tensor)
            options = (f"--precision={precision}", f"--mesh={mesh}", f"--recipe={recipe}")
            found = planned(package, os.path.join(folder, f"{precision} {mesh} {recipe}"), *options)
            for what, size in formula.items():
                wrong += compare(f"{precision} {mesh} {recipe}, {what}", found[what], size)
        for mesh, recipe, batch_parts, tensor, sequence in ACTIVATIONS:
            report = os.path.join(folder, f"{precision} {mesh} {recipe} activations")
            divided = (f"--mesh={mesh}", f"--recipe={recipe}") if mesh else ()
            plan(package, report, f"--precision={precision}", *divided)
            size = wanted_activations(package, precision == "bf16", batch_parts, tensor, sequence)
            name = " ".join(filter(None, (precision, mesh or "1 rank", recipe)))
            wrong += compare(f"{name}, activations", planned_activations(report), size)
    print(f"{wrong} off by more than 1 %")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
