"""each-graph.py FIXTURES DIRECTORY: prints, parses and canonicalises every exported graph; fails at the first difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def opt(source: Path | bytes, *flags: str) -> bytes:
    """What hone-opt makes of a file or of a text. Locations stay, which name results."""
    text = source.read_bytes() if isinstance(source, Path) else source
    return subprocess.run(["hone-opt", "-", "--mlir-print-debuginfo", *flags], input=text, stdout=subprocess.PIPE, check=True).stdout


def same(name: str, what: str, first: bytes, second: bytes) -> None:
    if first != second:
        sys.exit(f"{name}: {what}: the texts differ")


def main() -> None:
    fixtures, work = Path(sys.argv[1]), Path(sys.argv[2])
    graphs = sorted(fixtures.glob("*.hone/graph.mlir"))
    if not graphs:
        sys.exit(f"{fixtures}: holds no graph, expected some")
    for graph in graphs:
        name = graph.parent.name
        text = opt(graph)
        same(name, "print, parse, print", text, opt(text))
        same(name, "generic form", text, opt(opt(graph, "--mlir-print-op-generic")))
        clean = opt(text, "--canonicalize", "--cse", "--canonicalize")
        same(name, "canonicalised twice", clean, opt(clean, "--canonicalize", "--cse", "--canonicalize"))
        path = work / f"{name}.mlir"
        path.write_bytes(clean)
        compare = ["hone-run", "--compare", str(graph), str(path), "--args", "1", "--bitwise"]
        subprocess.run(compare, check=True)


if __name__ == "__main__":
    main()
