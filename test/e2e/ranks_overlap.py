#!/usr/bin/env python3
"""Trains pipelines whose forward and backward parts run together:

    ranks_overlap.py [OPTION]... PACKAGE WORKDIR HOW MESH:RECIPE:K:SCHEDULE...

Each case is trained with SCHEDULE and with SCHEDULE+overlap, as ranks.py does (HOW and options are its own): losses,
gradient norms and weights must have the same bits. A line per case; exit code 1 if one differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ranks


def main(argv: list[str]) -> int:
    options = [argument for argument in argv[1:] if argument.startswith("--")]
    package, folder, how, *cases = [argument for argument in argv[1:] if not argument.startswith("--")]
    work = Path(folder)
    work.mkdir(parents=True, exist_ok=True)
    trainer = ranks.Trainer(Path(package), work, how, options)
    failures = 0
    for number, case in enumerate(cases):
        mesh, recipe, micro, schedule = case.split(":")
        apart, together = (
            trainer.train(f"case{number}{suffix}", mesh, recipe, int(micro), schedule + suffix)
            for suffix in ("", "+overlap")
        )
        agrees = ranks.has_bits_of(apart, together)
        failures += not agrees
        numbers, worst = ranks.differences(apart, together)
        verdict = "equal" if agrees else f"DIFFERENT, numbers {numbers:.2g}, weights {worst:.2g}"
        print(f"{case}+overlap: {verdict}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
