#!/usr/bin/env python3
"""Estimates what --overlap-pieces is worth: layers of Llama-3 8B and 70B on 8 ranks of a machine.

  .venv/bin/python tools/overlap_pieces.py [--packages build/benchmark/overlap] [-o docs/benchmarks/overlap-pieces.md]

Exports four layers of each model without weights, compiles them with each number of pieces as far as a dry run does,
and writes the table between the markers of the page. No GPU is used.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONEC = pathlib.Path(os.environ.get("HONEC", ROOT / "build" / "bin" / "honec"))
sys.path[:0] = [str(ROOT / folder) for folder in ("tools", "python_frontend", "python_frontend/examples")]

# Name: width, hidden, heads, key heads.
MODELS = {"8B": (4096, 14336, 32, 8), "70B": (8192, 28672, 64, 8)}
LAYERS, VOCAB = 4, 128256
BATCHES = [(1, 8192), (4, 2048)]  # sequences, positions
PIECES = (1, 2, 4, 8)
LINKS = ("nvlink",)


def export(name: str, sequences: int, length: int, package: pathlib.Path) -> None:
    import hone
    import llama
    import mesh_search
    import torch

    width, hidden, heads, key_heads = MODELS[name]
    config = llama.Config(vocab=VOCAB, context=length, layers=LAYERS, heads=heads, key_heads=key_heads, width=width,
                          hidden=hidden, theta=500000.0)
    with torch.device("meta"):
        model = llama.Llama(config)
    model.cos, model.sin = llama.rotary_table(length, width // heads, config.theta)
    mesh_search.give_memory(model)
    ids = torch.zeros(sequences, length, dtype=torch.long)
    init = {"*norm*.weight": {"dist": "constant", "value": 1.0}, "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    hone.export(model, llama.loss, (ids, ids.clone()), optimizer=optimizer, out=str(package), init=init)


def estimate(package: pathlib.Path, link: str, pieces: int) -> tuple[float, float, float]:
    """Milliseconds of a step, those in which it waits for other ranks, and GiB at its peak."""
    command = [str(HONEC), str(package), "--target=cuda", "--arch=sm_90", "--precision=bf16", "--stream=low",
               f"--mesh=tp=8@{link}", "--recipe=sp", f"--overlap-pieces={pieces}", "--dry-run"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def number(pattern: str) -> float:
        return float(re.search(pattern, text, re.M).group(1))

    return (number(r"^estimated step\s+([\d.]+) ms"), number(r"^exposed\s+([\d.]+) ms"),
            number(r"\((\d+) bytes\)") / 2**30)


def table(packages: pathlib.Path) -> str:
    out = ["| layers of | sequences | link | " + " | ".join(f"{pieces} piece{'s' * (pieces != 1)}" for pieces in PIECES) + " |",
           "|---|---|---|" + "---|" * len(PIECES)]
    for name in MODELS:
        for sequences, length in BATCHES:
            package = packages / f"{name}-{sequences}x{length}.hone"
            if not package.exists():
                export(name, sequences, length, package)
            for link in LINKS:
                cells = []
                for pieces in PIECES:
                    step, exposed, peak = estimate(package, link, pieces)
                    cells.append(f"{step:.1f} ms, waits {exposed:.1f}, {peak:.2f} GiB")
                    print(name, sequences, length, link, pieces, cells[-1], flush=True)
                out.append(f"| {name} | {sequences} x {length} | {link} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=pathlib.Path, default=ROOT / "build" / "benchmark" / "overlap")
    parser.add_argument("-o", dest="page", type=pathlib.Path,
                        default=ROOT / "docs" / "benchmarks" / "overlap-pieces.md")
    arguments = parser.parse_args()
    arguments.packages.mkdir(parents=True, exist_ok=True)
    begin, end = "<!-- table: overlap_pieces.py -->\n", "<!-- end of table -->\n"
    head, rest = arguments.page.read_text().split(begin)
    arguments.page.write_text(f"{head}{begin}\n{table(arguments.packages)}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
