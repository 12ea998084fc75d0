#!/usr/bin/env python3
"""Checks who may include whom: check-arrows.py SOURCE_DIR. Prints every wrong arrow; exit 1 if there is one.

The rules are those of docs/design.md: IR <- Dist <- Plan <- Analysis <- Transforms <- Pipelines <- Driver <- tools,
Analysis <- Conversion <- Pipelines, and Analysis <- Report <- Driver; Support (files, other programs) stands below
Analysis; Transforms and Conversion never meet; the runtime knows no compiler, the compiler nothing of the runtime but
its .def files; vendor headers stay in their own folder of the runtime.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator

# What a part of the compiler may include of include/hone/, besides itself.
ALLOWED = {
    "IR": set(),
    "Dist": {"IR"},
    "Plan": {"IR", "Dist"},
    "Support": {"IR", "Plan"},
    "Analysis": {"IR", "Dist", "Plan", "Support"},
    "Transforms": {"IR", "Dist", "Plan", "Support", "Analysis"},
    "Conversion": {"IR", "Dist", "Plan", "Analysis"},
    "Interpreter": {"IR", "Dist", "Plan", "Support"},
    "Target": {"IR", "Support"},
    "Pipelines": {"IR", "Dist", "Plan", "Support", "Analysis", "Transforms", "Conversion", "Target"},
    "Report": {"IR", "Dist", "Plan", "Support", "Analysis", "Target"},
    "Driver": {"IR", "Dist", "Plan", "Support", "Analysis", "Transforms", "Conversion", "Target", "Pipelines",
               "Report"},
}

# Headers of others, and the only folders that may include them.
FENCED = {
    r"(llvm|mlir|lld)/": ("include/", "lib/", "tools/", "test/unit/"),
    r"hone/": ("include/", "lib/", "tools/", "test/unit/"),
    r"honert/": ("runtime/", "tools/hone-run/", "test/unit/device/", "test/unit/fuzz/", "test/unit/runtime/"),
    r"(oneapi/)?dnnl": ("runtime/lib/cpu/", "test/unit/runtime/"),
    r"(cuda|cublas|cudnn|nvrtc)": ("runtime/lib/cuda/", "runtime/lib/cudnn/", "runtime/lib/nccl/", "runtime/lib/fake/",
                                   "runtime/tools/", "test/unit/runtime/"),
    r"nccl\b": ("runtime/lib/nccl/", "runtime/lib/cuda/", "runtime/lib/fake/", "runtime/tools/", "test/unit/runtime/"),
    r"mpi\b": ("runtime/lib/comm/", "test/unit/runtime/"),
}
EXCEPTIONS = {"honert/abi.def", "honert/cpu_features.def", "honert/emulator.def"}

# Modules of the front end that run without any framework.
STANDARD_LIBRARY_ONLY = ("emit.py", "errors.py", "graph.py", "package.py")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]|^\s*include\s+"([^"]+)"')
SUFFIXES = {".h", ".c", ".cpp", ".td", ".def"}


def includes(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1] or match[2]


def part_of(relative: str) -> str | None:
    """ "Analysis" for include/hone/Analysis/X.h and lib/Analysis/X.cpp."""
    match = re.match(r"(?:include/hone|lib)/(\w+)/", relative)
    return match[1] if match else None


def wrong_includes(root: Path) -> Iterator[str]:
    for folder in ("include", "lib", "tools", "runtime", "test/unit"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            relative = path.relative_to(root).as_posix()
            part = part_of(relative)
            if part is not None and part not in ALLOWED:
                yield f"{relative}: part '{part}' has no rule in check-arrows.py"
                continue
            for number, name in includes(path):
                if name in EXCEPTIONS:
                    continue
                for pattern, homes in FENCED.items():
                    if re.match(pattern, name) and not relative.startswith(homes):
                        yield f"{relative}:{number}: includes {name}, which only {' and '.join(homes)} may"
                target = re.match(r"hone/(\w+)/", name)
                if part and target and target[1] != part and target[1] not in ALLOWED[part]:
                    yield f"{relative}:{number}: {part} includes {name}, but may only know {sorted(ALLOWED[part])}"


def wrong_imports(root: Path) -> Iterator[str]:
    for name in STANDARD_LIBRARY_ONLY:
        path = root / "python_frontend/hone" / name
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := re.match(r"\s*(?:import|from)\s+(\w+)", line):
                if match[1] not in sys.stdlib_module_names:
                    yield f"{path.relative_to(root)}:{number}: imports {match[1]}, expected the standard library only"


def main(argv: list[str]) -> int:
    if len(argv) != 2 or not Path(argv[1], "include/hone").is_dir():
        print("error: wrong arguments, expected SOURCE_DIR", file=sys.stderr)
        return 2
    wrong = [*wrong_includes(Path(argv[1])), *wrong_imports(Path(argv[1]))]
    print("\n".join(wrong) if wrong else "all arrows point the right way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
