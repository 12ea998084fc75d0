#!/usr/bin/env python3
"""Plans of Llama-8B within a GPU's memory: what `honec --dry-run` says of whole steps. Nothing is run.

  .venv/bin/python tools/offload-plans.py [--package FOLDER] [-o docs/benchmarks/offload-plans.md]
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys

import gpu_cases
import gpu_check

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONEC = ROOT / "build" / "bin" / "honec"
sys.path[:0] = [str(ROOT / folder) for folder in ("python_frontend", "python_frontend/examples")]

MICRO_BATCHES = 16
LLAMA_8B = {"vocab": 128256, "heads": 32, "key_heads": 8, "theta": 5e5, "context": 8192, "layers": 32, "width": 4096,
            "hidden": 14336}  # fmt: skip
# What the arena may take: the memory of the GPU without 2 GiB for context and libraries.
ROOMS = {"H200": "137GiB", "H100 of 80 GB": "77GiB"}
WAYS = {"recomputed": [], "`activations`": ["--offload=activations"], "`auto`": ["--offload=auto"],
        "`auto`, 8-bit moments": ["--offload=auto", "--moments=8bit"]}  # fmt: skip

HEAD = f"""# Plans of Llama-8B beyond the GPU's memory

What is fastest where a step does not fit? Llama-8B with AdamW in fp32, {MICRO_BATCHES} micro-batches of 1 x 8192 tokens,
bf16 with a low stream, fused attention. The table holds what `honec --dry-run` says for an H200's rates and its link of
45 GB/s each way. No figure is measured. `tools/offload-plans.py` makes the page; [offload](../rationale/offload.md)
explains the options.

| arena at most | what does not fit is | arena | second arena | ms per step | |
|---|---|---|---|---|---|
"""


def plan(package: pathlib.Path, options: list[str]) -> dict[str, str] | None:
    """What the dry run says; none where no plan fits."""
    command = [HONEC, package, "--target=cuda", "--arch=sm_90", "--attention=fused", "--stream=low", "--precision=bf16",
               f"--micro-batches={MICRO_BATCHES}", "--dry-run", *options]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stderr.strip(), file=sys.stderr)
        return None
    patterns = {"arena": r"peak memory +([\d.]+ \w+)", "host": r"second arena +([\d.]+ \w+)",
                "ms": r"estimated step +([\d.]+) ms"}  # fmt: skip
    found = {key: re.search(pattern, done.stdout) for key, pattern in patterns.items()}
    return {key: match[1] if match else "" for key, match in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build" / "llama-8b.hone")
    parser.add_argument("-o", dest="page", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.package.exists():
        case = gpu_cases.Case("llama", LLAMA_8B, 1, 8192, "bf16", "rate")
        gpu_check.export(case, arguments.package)
    free = plan(arguments.package, [])
    assert free, "without a bound there is a plan"
    rows = [f"| any | kept | {free['arena']} | | {float(free['ms']):,.0f} | |"]
    for device, room in ROOMS.items():
        for name, options in WAYS.items():
            found = plan(arguments.package, [f"--memory-budget={room}", *options])
            if not found:
                rows.append(f"| {room} ({device}) | {name} | no plan | | | |")
                continue
            more = float(found["ms"]) / float(free["ms"]) - 1
            rows.append(f"| {room} ({device}) | {name} | {found['arena']} | {found['host']} | "
                        f"{float(found['ms']):,.0f} | {more:+.1%} |")  # fmt: skip
            print(rows[-1], flush=True)
    if arguments.page:
        arguments.page.write_text(HEAD + "\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
