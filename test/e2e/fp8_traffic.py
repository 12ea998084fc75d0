#!/usr/bin/env python3
"""Bytes that a layer moves in fp8 beyond bf16, by the launches of plans: fp8_traffic.py WORKDIR MODEL ARCH PRECISION...

MODEL is llama, with the proportions of Llama-1B, or gpt2. Counted are buffers that launches read and write besides those
of products and attention, in a micro-batch of three layers less one of two. The unit is a byte per token and unit of
width. Two lines for each precision: with kernels of codes that compute nothing else, and as compiled.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tools", "python_frontend", "python_frontend/examples")]

import gpu_cases  # noqa: E402
import gpu_check  # noqa: E402

WIDTH, BATCH, SEQUENCE = 512, 4, 512
MODELS = {
    "llama": {"vocab": 512, "heads": 8, "key_heads": 2, "context": SEQUENCE, "width": WIDTH, "hidden": 4 * WIDTH},
    "gpt2": {"vocab": 512, "heads": 8, "width": WIDTH, "gelu": "tanh"},
}
BYTES = {"bf16": 2, "f32": 4, "i1": 1, "i8": 1, "i64": 8, "f8E4M3FN": 1}
APART = "--without=hone-fuse-into-codes"


def bytes_of(buffer: str) -> int:
    *sizes, element = re.match(r"[\w]+", buffer)[0].split("x")
    count = 1
    for size in sizes:
        count *= int(size)
    return count * BYTES[element]


def moved(package: Path, *options: str) -> int:
    """By launches of a micro-batch."""
    command = ["honec", package, "--target=cuda", "--attention=fused", "--stream=low", "--micro-batches=2",
               "--fp8-small", "--emit=plan", "-o", "-", *options]
    plan = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    start = plan.index("plan.function @accumulate")
    total = 0
    for line in plan[start : plan.find("plan.function", start + 1)].splitlines():
        launch = re.match(r" *plan\.launch +(\w+) (.*)", line)
        if launch and launch[1] not in ("contraction", "attention"):
            total += sum(map(bytes_of, re.findall(r"memref<([^>]*)", launch[2].partition(" scratch")[0])))
    return total


def main(argv: list[str]) -> int:
    work, model, arch, precisions = Path(argv[1]), argv[2], argv[3], argv[4:]
    work.mkdir(parents=True)
    packages = {}
    for layers in (2, 3):
        packages[layers] = work / f"{model}{layers}.hone"
        case = gpu_cases.Case(model, MODELS[model] | {"layers": layers}, BATCH, SEQUENCE, "bf16", "traffic")
        gpu_check.export(case, packages[layers])

    def layer(*options: str) -> float:
        words = [f"--arch={arch}", *options]
        return (moved(packages[3], *words) - moved(packages[2], *words)) / (BATCH * SEQUENCE * WIDTH)

    base = layer("--precision=bf16")
    for precision in precisions:
        for name, options in (("apart", [APART]), ("computed", [])):
            print(f"{model} {precision} {name}: {layer(f'--precision={precision}', *options) - base:.1f} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
