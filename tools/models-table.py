#!/usr/bin/env python3
"""Writes docs/models.md from what test/models/run.py recorded: models-table.py [RESULTS.jsonl] [--output PAGE.md]

RESULTS is docs/models.jsonl unless given. Kinds come in the catalogue's order, models in the file's.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 120

HEAD = """\
# Models

What trains with Hone, and what it refuses: every model of the catalogue in `test/models`, in a small random
configuration, exported, compiled for the CPU and trained ten steps in fp32 beside PyTorch, from the same weights and on
the same batches; those of JAX beside JAX and optax, a step under `jax.jit`. `test/models/run.py` ran them and
`tools/models-table.py` wrote this page from `docs/models.jsonl`; do not edit it.

```sh
test/models/run.py --kind losses --only dpo       # a few of them (HONE_MODELS=1 tools/setup.sh first)
```

The results:

- **equal**: all ten losses within 1e-5 of PyTorch's, relative to them, gradient norms within 1e-4, and each weight
  after ten steps within 1 % of what they moved it by. The loss changed by at least a hundred times as much over the ten
  steps, so a wrong gradient would show (`test/models/trial.py`).
- **differs**: it trains, to other numbers. A bug.
- **untested**: its loss changes too little to tell.
- **refused at export**, **refused by honec**: one line says why, and nothing is made.
- **compile error**, **... crashes**, **training fails**, **timeout**: a bug.
- **ill-conditioned**: PyTorch in fp32 is as far from PyTorch in fp64, so no comparison can tell.
- **wrong entry**: PyTorch itself does not train the model; the catalogue is to be mended.

Columns: largest relative difference of the losses, parameters, seconds to export and to compile, milliseconds of a step
(one thread), MiB of the arena, which holds all that a step uses. The models are tiny and other work ran beside them, so
times are rough; `docs/benchmarks` measures.
"""


def described(entries: list[dict]) -> list[str]:
    """The table of the models of one kind that train, and the list of those that do not."""
    lines = []
    trained = [row for row in entries if row["result"] == "equal"]
    if trained:
        framework = "JAX" if entries[0]["kind"] == "jax_models" else "PyTorch"
        lines += ["| model | difference | parameters | export s | compile s | step ms "
                  f"| {framework} ms | arena MiB |",
                  "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in trained:
        cells = (row["name"], f"{row['difference']:.1e}", f"{row['parameters']:,}", f"{row['export_s']:.1f}",
                 f"{row['compile_s']:.1f}", f"{row['hone_ms']:.3g}", f"{row['eager_ms']:.3g}",
                 f"{row['arena_mib']:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    others = [row for row in entries if row["result"] != "equal"]
    if trained and others:
        lines.append("")
    for row in others:
        text = f"- **{row['name']}**, {row['result']}: {plain(row['reason'])}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return lines


def plain(text: str) -> str:
    """Text that Markdown shows as it is, without the catalogue's own line."""
    return re.sub(r"([\\`*<>|\[\]])", r"\\\1", re.sub(r"^test/models/\S+: ", "", text))


def page(rows: list[dict], titles: dict[str, str]) -> str:
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in titles}
    lines = [HEAD, "## Summary", "", "| kind | models | equal | refused | other |", "|---|--:|--:|--:|--:|"]
    for kind, entries in [*kinds.items(), ("all", rows)]:
        equal = sum(row["result"] == "equal" for row in entries)
        refused = sum(row["result"].startswith("refused") for row in entries)
        title = titles.get(kind, "**All**")
        lines.append(f"| {title} | {len(entries)} | {equal} | {refused} | {len(entries) - equal - refused} |")
    for kind, entries in kinds.items():
        if entries:
            lines += ["", f"## {titles[kind]}", "", *described(entries)]
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", type=Path, default=ROOT / "docs" / "models.jsonl")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "models.md")
    arguments = parser.parse_args(argv)
    sys.path.insert(0, str(ROOT / "test" / "models"))
    from catalogue import KINDS

    rows = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    unknown = {row["kind"] for row in rows} - set(KINDS)
    if unknown:
        print(f"error: {arguments.results}: unknown kinds {', '.join(sorted(unknown))}", file=sys.stderr)
        return 1
    arguments.output.write_text(page(rows, KINDS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
