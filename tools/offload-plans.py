#!/usr/bin/env python3
"""Plans of Llama-8B within a GPU's memory: what `honec --dry-run` says of whole steps. Nothing is run.

  .venv/bin/python tools/offload-plans.py [--packages FOLDER] [-o docs/benchmarks/offload-plans.md]
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

import gpu_cases
import gpu_check

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONEC = ROOT / "build" / "bin" / "honec"
sys.path[:0] = [str(ROOT / folder) for folder in ("python_frontend", "python_frontend/examples")]

MICRO_BATCHES = 16
LLAMA_8B = {"vocab": 128256, "heads": 32, "key_heads": 8, "theta": 5e5, "context": 8192, "layers": 32, "width": 4096,
            "hidden": 14336}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Plans for one sort of GPU. `rooms`: what the arena may take: its memory but for context and libraries, 2 GiB."""

    target: tuple[str, ...]
    rows: int  # of a micro-batch
    sequence: int
    common: tuple[str, ...]
    rooms: dict[str, str]
    ways: dict[str, tuple[str, ...]]
    text: str


WAYS = {"recomputed": (), "`activations`": ("--offload=activations",), "`auto`": ("--offload=auto",),
        "`auto`, 8-bit moments": ("--offload=auto", "--moments=8bit")}  # fmt: skip
SR, FP8 = ("--precision=bf16-sr",), ("--precision=fp8", "--moments=8bit")
WEIGHTS = {"recomputed": SR, "`state`": (*SR, "--offload=state"), "`weights`": (*SR, "--offload=weights"),
           "`auto`": (*SR, "--offload=auto"), "`weights`, fp8": (*FP8, "--offload=weights"),
           "`auto`, fp8": (*FP8, "--offload=auto")}  # fmt: skip
TABLES = (
    Table(("--target=cuda", "--arch=sm_90"), 1, 8192, ("--precision=bf16",),
          {"H200": "137GiB", "H100 of 80 GB": "77GiB"}, WAYS,
          f"""Llama-8B with AdamW in fp32, {MICRO_BATCHES} micro-batches of 1 x 8192 tokens, bf16, a low stream and
fused attention. The table holds what `honec --dry-run` says for an H200's rates and its link of 45 GB/s each way."""),
    Table(("--device=RTX 4090",), 2, 4096, ("--gradients=bf16",), {"RTX 4090": "22GiB"}, WEIGHTS,
          f"""## On a card of 24 GB

The same model with {MICRO_BATCHES} micro-batches of 2 x 4096 tokens, gradients in bf16, and weights and moments in
`bf16-sr`, or products in fp8 with moments of 8 bits, for an RTX 4090's rates and a link of 22.5 GB/s each way. With
`weights` each layer's weights are copied up twice per micro-batch; `auto` has them away, too, and values."""),
)  # fmt: skip

HEAD = """# Plans of Llama-8B beyond the GPU's memory

What is fastest where a step does not fit? No figure is measured. `tools/offload-plans.py` makes the page;
[offload](../rationale/offload.md) explains the options.

"""
COLUMNS = """| arena at most | what does not fit is | arena | second arena | ms per step | tokens/s | |
|---|---|---|---|---|---|---|
"""


def plan(table: Table, package: pathlib.Path, options: tuple[str, ...]) -> dict[str, str] | None:
    """What the dry run says; none where no plan fits."""
    command = [HONEC, package, *table.target, "--attention=fused", "--stream=low",
               f"--micro-batches={MICRO_BATCHES}", "--dry-run", *table.common, *options]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stderr.strip(), file=sys.stderr)
        return None
    patterns = {"arena": r"peak memory +([\d.]+ \w+)", "host": r"second arena +([\d.]+ \w+)",
                "ms": r"estimated step +([\d.]+) ms"}  # fmt: skip
    found = {key: re.search(pattern, done.stdout) for key, pattern in patterns.items()}
    return {key: match[1] if match else "" for key, match in found.items()}


def row(table: Table, room: str, way: str, found: dict[str, str] | None, free: float) -> str:
    if not found:
        return f"| {room} | {way} | no plan | | | | |"
    ms = float(found["ms"])
    tokens, more = MICRO_BATCHES * table.rows * table.sequence / ms * 1e3, f"{ms / free - 1:+.1%}" if ms != free else ""
    return f"| {room} | {way} | {found['arena']} | {found['host']} | {ms:,.0f} | {tokens:,.0f} | {more} |"


def write(table: Table, package: pathlib.Path) -> str:
    if not package.exists():
        case = gpu_cases.Case("llama", LLAMA_8B, table.rows, table.sequence, "bf16", "rate")
        gpu_check.export(case, package)
    first = next(iter(table.ways.values()))
    free = plan(table, package, first)
    assert free, "without a bound there is a plan"
    rows = [row(table, "any", "kept", free, float(free["ms"]))]
    for device, room in table.rooms.items():
        for way, options in table.ways.items():
            found = plan(table, package, (f"--memory-budget={room}", *options))
            rows.append(row(table, f"{room} ({device})", way, found, float(free["ms"])))
            print(rows[-1], flush=True)
    return f"{table.text}\n\n{COLUMNS}" + "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=pathlib.Path, default=ROOT / "build", metavar="FOLDER")
    parser.add_argument("-o", dest="page", type=pathlib.Path)
    arguments = parser.parse_args()
    parts = [write(table, arguments.packages / f"llama-8b-{table.rows}x{table.sequence}.hone") for table in TABLES]
    if arguments.page:
        arguments.page.write_text(HEAD + "\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
