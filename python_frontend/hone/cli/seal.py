"""hone seal: accepts a package's graph that was edited after export."""

from __future__ import annotations

from typing import Sequence

from ..package import seal
from .command import Parser


def main(argv: Sequence[str]) -> int:
    package = _parser().read(argv).package
    print(f"{package}: " + ("sealed" if seal(package) else "is sealed already"))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "seal",
        "Gives the manifest the fingerprint of graph.mlir as it is now, so that honec no longer warns of an edit. "
        "Arguments and optimizer must still be those of the manifest, and weights are found by name and shape.",
    )
    parser.add_argument("package", metavar="PKG.hone", help="the package whose graph.mlir was edited")
    return parser
