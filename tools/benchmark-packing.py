#!/usr/bin/env python3
"""Measures the allocation planner: heights, decisions of the search and times of hone-pack.

  tools/benchmark-packing.py [--instances DIR] [--plans NAME=PLAN.mlir,...] [--layers 12,100,1000]
      [--nodes 160000,...] [-o docs/benchmarks/packing.md]

Instances are files NAME.CAPACITY.csv. Without --instances, those of MiniMalloc (ASPLOS 2023) are fetched from its
public repository into a temporary folder, and nothing stays; without network that part is left out, with a line that
says so.
A plan is what honec --emit=plan writes: the buffers of its temporaries are packed anew from their sizes and lifetimes.
--layers makes up training steps of that depth, 30 buffers per layer. Exit 1 if an instance does not fit.
Standard library only.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import pathlib
import platform
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/google/minimalloc"
FOLDER = "benchmarks/challenging"
WIDTHS = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i16": 2, "i8": 1, "i1": 1}

Buffer = tuple[int, int, int]  # first position, position after the last, bytes


@dataclass(frozen=True)
class Result:
    buffers: int
    bound: int
    height: int
    nodes: int
    seconds: float


def pack(tool: str, file: pathlib.Path, nodes: int, capacity: int = 0, alignment: int = 1) -> Result:
    """Runs hone-pack, which checks its own result; SystemExit if it finds a mistake."""
    command = [tool, str(file), "--nodes", str(nodes), "--alignment", str(alignment)]
    if capacity:
        command += ["--capacity", str(capacity)]
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = end.ru_utime - start.ru_utime + end.ru_stime - start.ru_stime
    values = {key: int(value) for key, value in re.findall(r"^([a-z ]+) (\d+)$", done.stdout, re.MULTILINE)}
    if done.returncode != 0 and (not values or values["height"] <= capacity):
        sys.exit(done.stderr.strip() or f"error: hone-pack ended with {done.returncode}")
    return Result(values["buffers"], values["lower bound"], values["height"], values["nodes"], seconds)


# ---- Instances -------------------------------------------------------------------------------------------------------


def fetch(folder: pathlib.Path) -> pathlib.Path | None:
    """The folder of the published instances; None without network."""
    command = ["git", "clone", "--quiet", "--depth", "1", REPOSITORY, str(folder / "repository")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"git ended with {done.returncode}"]
        print(f"left out: {REPOSITORY}: {lines[-1]}", file=sys.stderr)
        return None
    return folder / "repository" / FOLDER


def measure_instances(tool: str, folder: pathlib.Path, limits: list[int]) -> tuple[list[str], bool]:
    """Lines of the page, and whether all fit."""
    files = sorted(folder.glob("*.*.csv"))
    if not files:
        sys.exit(f"error: {folder}: holds no file NAME.CAPACITY.csv")
    heads = " | ".join(f"{limit:,} nodes: height | nodes | s" for limit in limits)
    lines = [f"| instance | buffers | live at once | greedy | {heads} | fits |", "|---" * (5 + 3 * len(limits)) + "|"]
    numbers = 0
    for file in files:
        name, capacity = file.name.split(".")[0], int(file.name.split(".")[1])
        greedy = pack(tool, file, 0, capacity)
        cells = [name, f"{greedy.buffers}", f"{greedy.bound:,}", excess(greedy.height, capacity)]
        for limit in limits:
            result = pack(tool, file, limit, capacity)
            cells += [excess(result.height, capacity), f"{result.nodes:,}", f"{result.seconds:.2f}"]
        fits = result.height <= capacity
        numbers += fits
        lines.append("| " + " | ".join(cells + ["yes" if fits else "**no**"]) + " |")
    lines += ["", f"**{numbers} of {len(files)} fit.**"]
    return lines, numbers == len(files)


def excess(height: int, capacity: int) -> str:
    return f"{height:,}" if height <= capacity else f"{height:,} (+{100 * (height - capacity) / capacity:.2f} %)"


# ---- Plans -----------------------------------------------------------------------------------------------------------


def read_plan(file: pathlib.Path) -> dict[str, list[Buffer]]:
    """The temporaries of each function of a plan. Buffers at one offset that meet in a launch are one."""
    functions: dict[str, list[Buffer]] = {}
    roots: dict[str, list[int]] = {}  # name -> offset, bytes, first, last
    base: dict[str, str] = {}
    position = 0

    def finish(name: str) -> None:
        storages: list[list[int]] = []
        newest: dict[int, list[int]] = {}
        used = [root for root in roots.values() if root[3] >= 0]
        for offset, size, first, last in sorted(used, key=lambda root: root[2:]):
            storage = newest.get(offset)
            if storage and first <= storage[2]:
                storage[1], storage[2] = max(storage[1], size), max(storage[2], last)
                continue
            newest[offset] = [first, size, last]
            storages.append(newest[offset])
        functions[name] = [(first, last + 1, size) for first, size, last in storages]

    name = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if match := re.search(r"plan\.function @(\w+)", line):
            if name:
                finish(name)
            name, position = match[1], 0
            roots.clear()
            base.clear()
        elif match := re.search(r"(%\w+) = plan\.buffer at (\d+) : memref<([0-9x]*)(\w+)(?:, .*)?> for ", line):
            count = math.prod(int(size) for size in match[3].split("x") if size)
            roots[match[1]] = [int(match[2]), count * WIDTHS[match[4]], sys.maxsize, -1]
        elif match := re.search(r"(%\w+) = plan\.view (%\w+) ", line):
            base[match[1]] = base.get(match[2], match[2])
        elif "plan.launch" in line or "plan.result" in line:
            for operand in re.findall(r"%[\w.$-]+", line):
                if root := roots.get(base.get(operand, operand)):
                    root[2:] = [min(root[2], position), max(root[3], position)]
            position += "plan.launch" in line
    if name:
        finish(name)
    return functions


def measure_plans(tool: str, plans: list[str], limits: list[int], folder: pathlib.Path) -> list[str]:
    heads = " | ".join(f"with the search, {limit:,} nodes | nodes | s" for limit in limits)
    lines = [f"| plan | buffers | live at once | greedy | {heads} |", "|---" * (4 + 3 * len(limits)) + "|"]
    for word in plans:
        label, _, path = word.rpartition("=")
        for function, buffers in read_plan(pathlib.Path(path)).items():
            file = write(folder / "plan.csv", buffers)
            greedy = pack(tool, file, 0, alignment=64)
            height = excess(greedy.height, greedy.bound)
            cells = [f"{label} @{function}", f"{greedy.buffers}", f"{greedy.bound:,}", height]
            for limit in limits:
                result = pack(tool, file, limit, alignment=64)
                cells += [excess(result.height, result.bound), f"{result.nodes:,}", f"{result.seconds:.2f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


# ---- Deep models -----------------------------------------------------------------------------------------------------


def training_step(layers: int) -> Iterator[Buffer]:
    """Forward saves 12 tensors of a layer and makes 6 that die at once; backward makes 12, most of them short-lived."""
    kib = 1024
    saved = [768, 2304, 12, 768, 768, 6, 6, 768, 3072, 3072, 6, 768]
    passing = [768, 2304, 384, 768, 3072, 768]
    gradients = [768, 3072, 3072, 768, 6, 768, 2304, 768, 384, 768, 12, 768]
    steps = 14
    end = 2 * layers * steps
    for layer in range(layers):
        forward, backward = layer * steps, end - (layer + 1) * steps
        for index, size in enumerate(saved):
            yield forward + index, backward + steps - index, size * kib
        for index, size in enumerate(passing):
            yield forward + 2 * index, forward + 2 * index + 2 + index % 2, size * kib
        for index, size in enumerate(gradients):
            yield backward + index, backward + index + 2 + index % 3, size * kib + layer % 3 * 64


def measure_depths(tool: str, depths: list[int], nodes: int, folder: pathlib.Path) -> list[str]:
    lines = ["| layers | buffers | live at once | height | nodes | s |", "|---" * 6 + "|"]
    for layers in depths:
        result = pack(tool, write(folder / "deep.csv", list(training_step(layers))), nodes, alignment=64)
        lines.append(f"| {layers} | {result.buffers:,} | {result.bound:,} | {excess(result.height, result.bound)} "
                     f"| {result.nodes:,} | {result.seconds:.2f} |")
    return lines


def write(file: pathlib.Path, buffers: list[Buffer]) -> pathlib.Path:
    rows = (f"{index},{lower},{upper},{size}\n" for index, (lower, upper, size) in enumerate(buffers))
    file.write_text("id,lower,upper,size\n" + "".join(rows))
    return file


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=pathlib.Path)
    parser.add_argument("--plans", default="")
    parser.add_argument("--layers", default="12,100,1000")
    parser.add_argument("--nodes", default="160000")
    parser.add_argument("--tool", default=str(ROOT / "build" / "bin" / "hone-pack"))
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    limits = [int(limit) for limit in options.nodes.split(",")]
    fits = True
    today = datetime.date.today()
    page = ["# Packing: the allocation planner on published instances and on training steps", "",
            f"Made by `tools/benchmark-packing.py` on {today}, {platform.machine()}, one thread; seconds are processor",
            "seconds of the whole tool. Every result was checked by `hone-pack`, apart from the planner. "
            "Heights and nodes are",
            "the same on every machine. What is done: [memory-plan](../rationale/memory-plan.md).", ""]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        page += ["## MiniMalloc's challenging instances", ""]
        if instances := options.instances or fetch(folder):
            lines, fits = measure_instances(options.tool, instances, limits)
            page += lines + [""]
        else:
            page += ["Left out: they could not be fetched.", ""]
        if options.plans:
            page += ["## Temporaries of compiled steps", ""]
            page += ["Everything but state, from the plans of `honec --emit=plan`.", ""]
            page += measure_plans(options.tool, options.plans.split(","), limits[-1:], folder) + [""]
        if options.layers:
            page += ["## Depth", "", "Made-up training steps, 30 buffers per layer, 12 of them saved for backward.", ""]
            depths = [int(layers) for layers in options.layers.split(",")]
            page += measure_depths(options.tool, depths, limits[-1], folder) + [""]
    text = "\n".join(page)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
