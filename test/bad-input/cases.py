"""The table of bad input: what a user may get wrong, and the one line they read then.

Commands run in a fresh folder; `prepare` puts files into it. Exit code 2 is a wrong command line, 1 everything else.
"""

from __future__ import annotations

from graph_cases import GRAPHS
from honec_cases import BUDGETS, COMMAND_LINES, CONSTANTS, OPTIMIZERS, OUTPUTS, PACKAGES, TEXTS
from program_cases import FLAGS, SOURCES, TOKEN_FILES, WEIGHTS
from workshop import GRAPH, Case, Workshop, graph, honec, removed

INTERPRETER = {
    "run-package-missing": Case(
        ("hone-run", "q.hone", "--data", "t.bin"), 1, "q.hone: does not exist, expected a package directory"
    ),
    "run-manifest-missing": Case(
        ("hone-run", "p.hone", "--data", "t.bin"),
        1,
        "p.hone/manifest.json: cannot be read: No such file or directory",
        removed("manifest.json"),
    ),
    "run-graph-truncated": Case(
        ("hone-run", "p.hone", "--data", "t.bin"),
        1,
        "p.hone/graph.mlir:5:113: expected '}' in attribute dictionary",
        graph(GRAPH[: len(GRAPH) // 2]),
    ),
    "run-nested": Case(
        ("hone-run", "--eval", "deep.mlir"),
        1,
        "deep.mlir:1:513: nests 513 levels deep, expected at most 512",
        lambda shop: (shop.home / "deep.mlir").write_text("(" * 100_000),
    ),
    "run-bytecode": Case(
        ("hone-run", "--eval", "graph.mlir"),
        1,
        "graph.mlir: is MLIR bytecode, expected text",
        lambda shop: (shop.home / "graph.mlir").write_bytes(b"ML\xefR" + b"\0" * 100),
    ),
    "run-action-misspelt": Case(
        ("hone-run", "--gradchek", "graph.mlir"),
        2,
        "--gradchek: unknown, expected PACKAGE.hone, --eval, --compare or --gradcheck (see hone-run --help); did you "
        "mean --gradcheck?",
    ),
    "run-option-misspelt": Case(
        ("hone-run", "--eval", "--entri", "f", "graph.mlir"),
        2,
        "--entri: unknown after --eval, expected an option of hone-run --help; did you mean --entry?",
    ),
    "run-precision-misspelt": Case(
        ("hone-run", "p.hone", "--precision", "bf16-rs"),
        2,
        "--precision: 'bf16-rs', expected fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8; did you mean bf16-sr?",
    ),
    "run-chunk-loss-prose": Case(
        ("hone-run", "p.hone", "--chunk-loss", "of"), 2, "--chunk-loss: 'of', expected auto, off or a number of rows"
    ),
    "run-data-missing": Case(
        ("hone-run", "p.hone", "--data", "t.bin"), 1, "t.bin: cannot be read: No such file or directory"
    ),
    "run-flag-unknown": Case(("hone-run", "p.hone", "--fast"), 2, "--fast: unknown, expected a flag of --help"),
}

KEPT = {
    "output-kept": Case(
        honec(),
        1,
        "p.hone/graph.mlir:3:110: expected '}' in attribute dictionary",
        lambda shop: (shop.package(GRAPH[:200]), (shop.home / "train").write_text("old")),
    )
}

CASES: dict[str, Case] = {
    **COMMAND_LINES,
    **OPTIMIZERS,
    **BUDGETS,
    **OUTPUTS,
    **PACKAGES,
    **GRAPHS,
    **CONSTANTS,
    **TEXTS,
    **TOKEN_FILES,
    **SOURCES,
    **WEIGHTS,
    **FLAGS,
    **INTERPRETER,
    **KEPT,
}
