#!/usr/bin/env python3
"""Checks who may include whom: check-arrows.py SOURCE_DIR. Prints every wrong arrow; exit 1 if there is one.

The rooms are those of docs/design.md. ALLOWED is the whole list of arrows between rooms of the compiler, RUNTIME that of
the runtime; a header that lies beside its sources (lib/Room/...) belongs to its room and its unit tests alone. The
runtime knows no compiler, the compiler nothing of the runtime but its .def files and runtime/lib/base; vendor headers
stay in their own folders.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator

# What a room of the compiler may include of include/hone/, besides itself. The dist dialect and what its attributes mean
# (Sharding/IR, Sharding/Model) lie below the analyses; the passes of Sharding lie above them.
DIALECTS = {"IR", "Sharding/IR", "Plan"}
BELOW_PASSES = DIALECTS | {"Sharding/Model", "Support", "Analysis"}
ALLOWED = {
    "IR": set(),
    "Sharding/IR": {"IR"},
    "Sharding/Model": {"IR", "Sharding/IR"},
    "Plan": {"IR", "Sharding/IR"},
    "Support": {"IR", "Plan"},
    "Interpreter": DIALECTS | {"Support"},
    "Analysis": DIALECTS | {"Sharding/Model", "Support"},
    "Transforms": BELOW_PASSES,
    "Sharding": BELOW_PASSES,
    "Codegen": BELOW_PASSES,
    "Target": {"IR", "Support"},
    "Pipelines": BELOW_PASSES | {"Transforms", "Sharding", "Codegen", "Target"},
    "Report": BELOW_PASSES | {"Target"},
    "Driver": BELOW_PASSES | {"Transforms", "Sharding", "Codegen", "Target", "Pipelines", "Report"},
}
# What of a room the room below it may not see: its passes.
SUBROOMS = {"Sharding": ("IR", "Model")}

# What a room of the runtime may include of runtime/lib, besides itself; a file belongs to the longest name that fits.
# Emulation stands in for vendors' libraries: it sees what the runtime declares of each, and combines as ranks do.
RUNTIME = {
    "base": "",
    "glibc": "",
    "program": "base",
    "io": "base program",
    "io/checkpoint": "base program io",
    "io/data": "base program io",
    "io/text": "base",
    "comm/group": "base program",
    "comm/host": "base program comm/group",
    "comm/tcp": "base program comm/group",
    "exec": "base program",
    "exec/cpu": "base program exec",
    "exec/cuda/core": "base program",
    "exec/cuda/products": "base program exec/cuda/core",
    "exec/cuda/attention": "base program exec/cuda/core",
    "exec/cuda/collectives": "base program comm/group exec/cuda/core",
    "exec/cuda/compare": "base program exec/cuda/core",
    "exec/cuda": "base program exec exec/cuda/core exec/cuda/products exec/cuda/attention exec/cuda/collectives "
    "exec/cuda/compare",
    "train": "base program io io/checkpoint io/data io/text comm/group comm/host comm/tcp exec exec/cpu exec/cuda "
    "exec/cuda/collectives",
    "emulation/kernels": "base",
    "emulation/driver": "exec/cuda/core exec/cuda/products",
    "emulation/cublas": "base emulation/driver",
    "emulation/cudnn": "base emulation/driver exec/cuda/attention",
    "emulation/nccl": "comm/host emulation/driver exec/cuda/collectives",
    "emulation": "emulation/driver emulation/cudnn emulation/nccl exec/cuda/core exec/cuda/products",
}

# Headers of others, and the only folders that may include them.
FENCED = {
    r"(llvm|mlir|lld)/": ("include/", "lib/", "tools/", "test/unit/"),
    r"hone/": ("include/", "lib/", "tools/", "test/unit/"),
    r"honert/": ("runtime/", "tools/hone-run/", "test/unit/Analysis/Pipeline/", "test/unit/Target/", "test/unit/fuzz/",
                 "test/unit/runtime/"),
    r"(oneapi/)?dnnl": ("runtime/lib/exec/cpu/",),
    r"(cuda|cublas|cudnn|nvrtc|nvtx3)": ("runtime/lib/exec/cuda/",),
    r"nccl\b": ("runtime/lib/exec/cuda/collectives/",),
    r"mpi\b": ("runtime/lib/comm/host/",),
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


def room_of(path: str) -> str | None:
    """ "Analysis" for include/hone/Analysis/X.h and lib/Analysis/Cost/X.cpp; "Sharding/IR" for what has rules of its
    own."""
    match = re.match(r"(?:include/hone|lib)/(\w+)/(?:(\w+)/)?", path)
    if not match:
        return None
    return f"{match[1]}/{match[2]}" if match[2] in SUBROOMS.get(match[1], ()) else match[1]


def is_private(root: Path, name: str) -> bool:
    """Whether `name` is a header of the compiler beside its sources, by its path below lib/."""
    return "/" in name and not name.startswith("hone/") and (root / "lib" / name).is_file()


def runtime_room_of(name: str) -> str | None:
    """ "exec/cuda/core" for exec/cuda/core/Device.h."""
    folder = name.rpartition("/")[0]
    while folder and folder not in RUNTIME:
        folder = folder.rpartition("/")[0]
    return folder or None


def wrong_runtime_includes(root: Path) -> Iterator[str]:
    library = root / "runtime/lib"
    for path in sorted(library.rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        name = path.relative_to(library).as_posix()
        room = runtime_room_of(name)
        if room is None:
            yield f"runtime/lib/{name}: lies in no room of check-arrows.py"
            continue
        allowed = {room, *RUNTIME[room].split()}
        for number, included in includes(path):
            if (library / included).is_file() and runtime_room_of(included) not in allowed:
                yield f"runtime/lib/{name}:{number}: {room} includes {included}, but may only know {sorted(allowed)}"
    for folder in ("include", "lib", "tools"):
        for path in sorted((root / folder).rglob("*")):
            for number, included in includes(path) if path.suffix in SUFFIXES else ():
                if (library / included).is_file() and runtime_room_of(included) != "base":
                    yield f"{path.relative_to(root)}:{number}: includes {included}, of the runtime only base/ may be"


def runtime_cycles() -> Iterator[str]:
    """The rules themselves draw no circle."""
    below = {room: set(allowed.split()) for room, allowed in RUNTIME.items()}
    while leaves := {room for room, allowed in below.items() if not allowed & below.keys()}:
        below = {room: allowed for room, allowed in below.items() if room not in leaves}
    if below:
        yield f"RUNTIME in check-arrows.py lets rooms include each other in a circle, some of {sorted(below)}"


def wrong_includes(root: Path) -> Iterator[str]:
    for folder in ("include", "lib", "tools", "runtime", "test/unit"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            relative = path.relative_to(root).as_posix()
            room = room_of(relative)
            if room is not None and room not in ALLOWED:
                yield f"{relative}: room '{room}' has no rule in check-arrows.py"
                continue
            for number, name in includes(path):
                if name in EXCEPTIONS:
                    continue
                for pattern, homes in FENCED.items():
                    if re.match(pattern, name) and not relative.startswith(homes):
                        yield f"{relative}:{number}: includes {name}, which only {' and '.join(homes)} may"
                target = room_of(f"include/{name}" if name.startswith("hone/") else "")
                if room and target and target != room and target not in ALLOWED[room]:
                    yield f"{relative}:{number}: {room} includes {name}, but may only know {sorted(ALLOWED[room])}"
                if is_private(root, name) and not relative.startswith((f"lib/{name.split('/')[0]}/", "test/unit/")):
                    yield f"{relative}:{number}: includes {name}, which only lib/{name.split('/')[0]} may"


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
    root = Path(argv[1])
    wrong = [*wrong_includes(root), *runtime_cycles(), *wrong_runtime_includes(root), *wrong_imports(root)]
    print("\n".join(wrong) if wrong else "all arrows point the right way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
