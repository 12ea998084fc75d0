#!/usr/bin/env python3
"""Computed gains of fp8 on GPUs: what `honec --dry-run` says of whole steps, beside a study's figures. Nothing is run.

  .venv/bin/python tools/fp8-gains.py [--models 124m,350m,774m,1.5b,llama-1b,llama-8b] [--folder build/fp8-gains]
      [--results build/fp8-gains/results.jsonl] [-o docs/benchmarks/fp8-gains.md]

Results are appended to a file, from which the page is made: the estimates can be made in pieces.
"""

from __future__ import annotations

import argparse
import json
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
LLAMA = {"vocab": 128256, "heads": 32, "key_heads": 8, "theta": 5e5}
# Batch and sequence of a micro-batch: 524,288 tokens per step, 131,072 of llama-8b.
MODELS = {
    "124m": ("gpt2", {"layers": 12, "heads": 12, "width": 768}, 32, 1024),
    "350m": ("gpt2", {"layers": 24, "heads": 16, "width": 1024}, 32, 1024),
    "774m": ("gpt2", {"layers": 36, "heads": 20, "width": 1280}, 32, 1024),
    "1.5b": ("gpt2", {"layers": 48, "heads": 25, "width": 1600}, 32, 1024),
    "llama-1b": ("llama", LLAMA | {"context": 4096, "layers": 16, "width": 2048, "hidden": 8192}, 8, 4096),
    "llama-8b": ("llama", LLAMA | {"context": 8192, "layers": 32, "width": 4096, "hidden": 14336}, 1, 8192),
}
PRECISIONS = {"sm_90": ("bf16", "fp8", "fp8-block"), "sm_100": ("bf16", "fp8", "mxfp8")}
GPUS = {"sm_90": "H200", "sm_100": "B200"}

# Milliseconds of the study that fp8 was planned by: bf16, fp8, and fp8-block or mxfp8. It took the rates of products
# from TransformerEngine's benchmark, and quantisation as fused into the kernels around it.
STUDY = {
    ("124m", "sm_90"): (716, 685, 669), ("124m", "sm_100"): (344, 332, 322),
    ("350m", "sm_90"): (1913, 1691, 1679), ("350m", "sm_100"): (883, 788, 764),
    ("774m", "sm_90"): (3981, 3303, 3332), ("774m", "sm_100"): (1809, 1511, 1472),
    ("1.5b", "sm_90"): (7682, 6005, 6164), ("1.5b", "sm_100"): (3463, 2711, 2660),
    ("llama-1b", "sm_90"): (7304, 5863, 5982), ("llama-1b", "sm_100"): (3339, 2651, 2606),
    ("llama-8b", "sm_90"): (9767, 6928, 7356), ("llama-8b", "sm_100"): (4409, 3070, 3070),
}  # fmt: skip

HEAD = """# Computed gains of fp8

Before a GPU is rented, how much shorter would a step be in fp8? The table holds what `honec --dry-run` says of whole
steps of {micro} micro-batches, with the gain over bf16, and what the study said by which fp8 was planned. No figure is
measured. `tools/fp8-gains.py` makes the page.

```
honec MODEL.hone --target=cuda --arch=sm_90 --attention=fused --stream=low --micro-batches={micro} --precision=fp8 \\
  --dry-run
```

"""

TAIL = """
Milliseconds per step; in brackets the gain over bf16, here and in the study. Differences have three causes:

- **Rates.** The study took products of codes from TransformerEngine's benchmark: 2.02 times bf16 with one scale per
  tensor, 1.72 with blocks. On our H200, layers of Llama reached 1.82, 1.62 with 1x128 by 128x128, and 1.19 with 1x128
  by 1x128, which weight gradients are ([rates](gpu/README.md)). The dry run takes these. Its bf16 steps differ from
  the study's because plans have changed since.
- **Passes.** The study counts quantisation as fused into norms, gates and their gradients: 13h bytes per layer of
  Llama. Here, with blocks and MX, kernels that make codes compute gates, norms, rotations and sums of columns: 18h. Of
  the difference 4h are that codes along columns are made of values in bf16, not of codes along rows; the rest are
  scales. With one scale per tensor, the kernel that makes a value finds its largest magnitude and another makes codes:
  4 bytes per element, 62h per layer of Llama, as in the study.
- **GELU** leaves the epilogues of products, which have none for codes. The rule by which products of small weights
  stay bf16 ([fp8](../rationale/fp8-gpu.md)) counts that: on a B200 with one scale per tensor 124m is that of bf16.
"""


def estimate(package: pathlib.Path, arch: str, precision: str) -> float:
    """Milliseconds of a step."""
    command = [HONEC, package, "--target=cuda", f"--arch={arch}", "--attention=fused", "--stream=low",
               f"--micro-batches={MICRO_BATCHES}", f"--precision={precision}", "--dry-run"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"estimated step +([\d.]+) ms", text)
    assert found, text
    return float(found[1])


def export(name: str, package: pathlib.Path) -> None:
    model, settings, batch, sequence = MODELS[name]
    if model == "gpt2":
        settings = settings | {"gelu": "tanh"}
    gpu_check.export(gpu_cases.Case(model, settings, batch, sequence, "bf16", "rate"), package)


def measure(name: str, folder: pathlib.Path, results: pathlib.Path) -> None:
    package = folder / f"{name}.hone"
    if not package.exists():
        export(name, package)
    for arch, precisions in PRECISIONS.items():
        for precision in precisions:
            row = {"model": name, "arch": arch, "precision": precision, "ms": estimate(package, arch, precision)}
            print(row, flush=True)
            with results.open("a") as file:
                file.write(json.dumps(row) + "\n")


def table(results: pathlib.Path, arch: str) -> str:
    known = {}
    for row in map(json.loads, results.read_text().splitlines()):
        known[row["model"], row["arch"], row["precision"]] = row["ms"]
    precisions = PRECISIONS[arch]
    text = f"## {GPUS[arch]}\n\n| | bf16 | study |" + "".join(f" `{name}` | study |" for name in precisions[1:])
    text += "\n" + "|---" * (1 + 2 * len(precisions)) + "|\n"
    for model in MODELS:
        times = [known.get((model, arch, precision)) for precision in precisions]
        if None in times:
            continue
        cells = []
        for index, (ours, theirs) in enumerate(zip(times, STUDY[model, arch], strict=True)):
            for value, base in ((ours, times[0]), (theirs, STUDY[model, arch][0])):
                cells.append(f"{value:,.0f}" + (f" ({base / value:.2f})" if index else ""))
        text += f"| {model} | " + " | ".join(cells) + " |\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "fp8-gains")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("-o", dest="page", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results = arguments.results or arguments.folder / "results.jsonl"
    for name in filter(None, arguments.models.split(",")):
        measure(name, arguments.folder, results)
    if arguments.page:
        tables = "\n".join(table(results, arch) for arch in PRECISIONS)
        arguments.page.write_text(HEAD.format(micro=MICRO_BATCHES) + tables + TAIL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
