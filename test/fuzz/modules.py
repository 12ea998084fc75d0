"""Modules of random graphs in bulk: many in one file for hone-opt, all functions in one module for hone-run.

Starting a tool takes as long as some hundred small graphs, so a batch of graphs goes through each tool at once: for
hone-opt as one file of modules between `// -----`, each named after its graph (@g17); for hone-run as one module whose
functions are named after graph and function (@g17_step).
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

SEPARATOR = "// -----\n"
# Optimizer state starts at 0, which would hide what an update does with it.
ZERO_STATE = 'hone.init = {dist = "constant", value = 0.000000e+00 : f64}'
SOME_STATE = 'hone.init = {dist = "uniform", high = 9.000000e-01 : f64, low = 1.000000e-01 : f64}'

# Tensors come and go: to hand their pages back each time takes half as long as what is computed.
KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}

Modules = dict[str, str]  # graph -> text of its module


@dataclass(frozen=True)
class Result:
    modules: Modules
    errors: str


def call(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env=os.environ | KEEP_PAGES)


def module(name: str, functions: str, attributes: str = "") -> str:
    return f"module @{name}{attributes and f' attributes {{{attributes}}}'} {{\n{functions}}}\n"


def functions_of(text: str) -> dict[str, str]:
    """The functions of a printed module by name, each on lines of its own."""
    found, name, lines = {}, "", []
    for line in text.splitlines():
        if match := re.match(r"  func\.func @(\w+)\(", line):
            name, lines = match[1], []
            line = re.sub(r" attributes \{[^{}]*\} \{$", " {", line)  # of the function
        if name:
            lines.append(line)
            if line == "  }":
                found[name], name = "\n".join(lines) + "\n", ""
    return found


def optimize(work: Path, modules: Modules, flags: Sequence[str]) -> Result:
    """All modules after the passes that `flags` of hone-opt name. A module on which one fails is not in the result."""
    source, target = work / "in.mlir", work / "out.mlir"
    source.write_text(SEPARATOR.join(modules.values()))
    target.unlink(missing_ok=True)
    done = call("hone-opt", source, "--split-input-file", *flags, "-o", target)
    if done.returncode != 0 and len(modules) > 1:  # nothing was written: one by one
        results = [optimize(work, {name: text}, flags) for name, text in modules.items()]
        merged = {name: text for result in results for name, text in result.modules.items()}
        return Result(merged, next((result.errors for result in results if result.errors), ""))
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "warning" not in line] or ["no message"]
        return Result({}, f"hone-opt exits with {done.returncode}: {lines[0][:300]}")
    found = {}
    for text in target.read_text().split(SEPARATOR):
        if match := re.match(r"(?:#.*\n)*module @(\w+)", text):
            found[match[1]] = text
    return Result(found, "")


def merge(modules: Modules, wanted: dict[str, dict[str, str]]) -> str:
    """One module of the `wanted` functions of each graph, under their new names."""
    parts = []
    for graph, names in wanted.items():
        functions = functions_of(modules[graph])
        for old, new in names.items():
            parts.append(functions[old].replace(f"func.func @{old}(", f"func.func @{graph}_{new}(", 1))
    return "module {\n" + "".join(parts).replace(ZERO_STATE, SOME_STATE) + "}\n"


def compare(work: Path, before: str, after: str, options: Sequence[str]) -> dict[str, str]:
    """What hone-run says of each function that differs; the graph is the part of its name before `_`."""
    first, second = work / "before.mlir", work / "after.mlir"
    first.write_text(before)
    second.write_text(after)
    done = call("hone-run", "--compare", first, second, "--args", "1", *options)
    wrong = {}
    for line in done.stdout.splitlines():
        match = re.match(r"@(\w+?)_(\w+): different", line)
        if match:
            wrong[match[1]] = line
    if done.returncode != 0 and not wrong:
        wrong[""] = (done.stderr.splitlines() or [f"hone-run exits with {done.returncode}"])[0]
    return wrong
