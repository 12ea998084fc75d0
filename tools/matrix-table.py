#!/usr/bin/env python3
"""Writes docs/models-matrix.md from the results of test/models/matrix.py.

    matrix-table.py [RESULTS.jsonl] [--output PAGE.md]

RESULTS is docs/models-matrix.jsonl unless given. Models come in the file's order.
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
# Models on meshes, in low precision, within budgets

One model of each kind of [models.md](models.md), or two, under every kind of setting: what `--mesh`, `--exact`,
`--precision`, `--memory-budget`, `--offload`, `--threads` and `--resume` promise holds for more than GPT-2 and Llama.
Each trains ten steps from the same weights on the same batches. `test/models/matrix.py` ran them and
`tools/matrix-table.py` wrote
this page from `docs/models-matrix.jsonl`; do not edit it.

```sh
test/models/matrix.py --only mamba2               # one of them (HONE_MODELS=1 tools/setup.sh first)
```

| column | setting | compared with |
|---|---|---|
| dp, fs, tp | `--mesh=dp=2`, `--mesh=fs=2 --recipe=zero3`, `--mesh=tp=2` | one rank |
| exact | the same three with `--exact` | one rank with `--exact` |
| bf16, fp16 | `--precision` | PyTorch in fp64, beside its autocast |
| fp8 | `--precision=fp8-block` | bf16 |
| budgets | the least memory budget, and what the plan without one takes | no budget |
| offload | `--offload=state` | all state in memory |
| threads | 2 threads | 1 thread |
| resume | a break after four steps, `--resume` | no break |
| combined | a few of all these at once | the same mesh and precision, otherwise plain |

What a cell says:

- `bits`: losses, gradient norms and saved weights are the same in every bit.
- Under dp, fs and tp: the largest difference of a loss. It is at most 1e-5, of gradient norms 1e-4, and weights differ
  by at most 2 % of what ten steps can move them.
- Under bf16 and fp16: the largest error of the losses, or of a parameter's gradient (lower quartile of eight batches),
  over that of autocast. It is at most 2, or the error at most one rounding of the type. Of JAX, which has no autocast:
  the difference from fp32.
- Under fp8: the largest difference of a loss from bf16, at most 2e-2. Products whose sizes are no multiples of 16 stay
  bf16, so that 0 says that the model has no others.
- `-`: not run since the column is there.
- Anything else is explained below the table.

The combinations of three models together hold every pair of two settings (`test/models/settings.py`).
"""

# Columns, and which settings each holds.
COLUMNS = {
    "dp": "dp=2", "fs": "fs=2", "tp": "tp=2", "exact": r"\w\w=2 exact", "bf16": "bf16", "fp16": "fp16",
    "fp8": "fp8", "budgets": r"\w+ budget", "offload": "offload", "threads": r"\d threads", "resume": "resume",
    "combined": r".+ \d threads( resumed)?( offloaded)?",
}
RATIOS = ("bf16", "fp16")


def cell(column: str, found: list[dict], framework: str) -> str:
    if not found:
        return "-"
    wrong = [setting["result"] for setting in found if setting["result"] != "equal"]
    if wrong:
        return wrong[0].split()[0]
    if column in RATIOS and framework == "PyTorch":
        return f"{found[0]['difference']:.2f}"
    if column in ("dp", "fs", "tp", "fp8", *RATIOS):
        return f"{found[0]['difference']:.0e}"
    return "bits"


def page(rows: list[dict], models: list[str]) -> str:
    lines = [HEAD, f"| model | {' | '.join(COLUMNS)} |", "|---|" + "--:|" * len(COLUMNS)]
    notes: dict[str, list[str]] = {}
    for row in rows:
        settings = row.get("settings", {})
        framework = "JAX" if row["kind"] == "jax_models" else "PyTorch"
        cells = [cell(column, [found for name, found in settings.items() if re.fullmatch(pattern, name)], framework)
                 for column, pattern in COLUMNS.items()]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
        if not settings:
            notes.setdefault(f"{row['result']}: {plain(row['reason'])}", []).append(f"**{row['name']}**")
        for name, found in settings.items():
            if found["result"] != "equal":
                text = f"{found['result']}: {plain(found['reason'])}"
                notes.setdefault(text, []).append(f"**{row['name']}**, {name}")
    missing = [name for name in models if name not in {row["name"] for row in rows}]
    if missing:
        lines += ["", *textwrap.wrap(f"Not run yet: {', '.join(missing)}.", WIDTH)]
    if notes:
        lines.append("")
    for text, places in notes.items():
        lines += textwrap.wrap(f"- {'; '.join(places)}: {text}", WIDTH, subsequent_indent="  ", break_long_words=False,
                               break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, without paths of packages."""
    return re.sub(r"([\\`*<>|\[\]])", r"\\\1", re.sub(r"/\S+/(?=\w+\.hone)", "", text))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", type=Path, default=ROOT / "docs" / "models-matrix.jsonl")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "models-matrix.md")
    arguments = parser.parse_args(argv)
    rows = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    sys.path.insert(0, str(ROOT / "test" / "models"))
    from matrix import MODELS

    arguments.output.write_text(page(rows, MODELS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
