#!/usr/bin/env python3
"""Trains a model of each kind of the catalogue on meshes, in low precision and within memory budgets, and records a
line of JSON for each.

    matrix.py [--only PATTERN] [--kind KIND]... [--sample] [--again | --retry] [--results FILE] ...

The options are those of run.py, which trains all models on one rank in fp32. settings.py says what is compared. Besides
each setting alone, every model gets some combinations; those of three models together hold every pair of two settings,
and --sample runs them for three cheap models, without the settings alone. The exit code is 1 if a setting does worse
than the expected results say (docs/models-matrix.jsonl). After a run, tools/matrix-table.py writes
docs/models-matrix.md.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run  # noqa: E402
from catalogue import Entry, catalogue  # noqa: E402
from programs import Row  # noqa: E402
from settings import Combined, is_fine, pairs, run_settings  # noqa: E402

# One of each kind, or two where kinds are broad: norms of batches beside patches, convolutions beside attention.
MODELS = """
    llama gpt2 bert-mlm t5-seq2seq mixtral mamba2 vit resnet convnext timm-convmixer whisper wav2vec2 clip-pair git-image
    unet-2d dit patchtst decision_transformer lstm gru cnn-batch-norm lora qlora dpo jax_gpt_scan linen_resnet
""".split()
SAMPLE = ("cnn-batch-norm", "mlp-BatchNorm1d", "patchtst")
SHARES = len(SAMPLE)  # models that share the combinations


def combinations_of(name: str) -> list[Combined]:
    """The share of the pairwise combinations that a model runs."""
    place = SAMPLE.index(name) if name in SAMPLE else MODELS.index(name)
    return pairs()[place % SHARES :: SHARES]


def trial(entry: Entry, *arguments, alone: bool) -> None:
    run_settings(entry, *arguments, combined=combinations_of(entry.name), alone=alone)


def described(row: Row) -> str:
    found = row.get("settings", {}).values()
    equal = sum(setting["result"] == "equal" for setting in found)
    refused = sum(setting["result"].startswith("refused") for setting in found)
    is_fine = row["result"] == "equal"
    return f"{equal} settings equal, {refused} refused" if is_fine else f"{row['result']}: {row['reason']}"


def described_setting(found: Row) -> str:
    return f"{found['result']}, {found['reason']}"


def worse(row: Row, expected: Row | None) -> list[str]:
    """Settings that do worse than expected; the model itself where it has none."""
    before = (expected or {}).get("settings", {})
    if not row.get("settings"):
        return [row["name"]] if run.is_worse(row, expected) else []
    return [f"{row['name']}, {name}: {described_setting(found)}" for name, found in row["settings"].items()
            if run.is_worse(found, before.get(name))]


def main(argv: list[str]) -> int:
    parser = run.make_parser(__doc__)
    parser.set_defaults(results=run.ROOT / "build" / "models" / "matrix.jsonl",
                        expected=run.ROOT / "docs" / "models-matrix.jsonl",
                        work=run.ROOT / "build" / "models" / "matrix", limit=400)
    arguments = parser.parse_args(argv)
    expected = run.read_rows(arguments.expected)
    names = SAMPLE if arguments.sample else MODELS
    is_sample, arguments.sample = arguments.sample, False
    todo = [entry for entry in run.chosen(arguments, run.read_rows(arguments.results), expected) if entry.name in names]
    if arguments.list:
        print("\n".join(f"{entry.kind:20s} {entry.name}" for entry in todo))
        return 0
    run.warm_up()
    ran = run.run_all(run.in_turn(todo), arguments, functools.partial(trial, alone=not is_sample), described)
    run.write_rows(arguments.results, run.read_rows(arguments.results), list(catalogue()))
    found = [setting for row in ran for setting in row.get("settings", {}).values()]
    print(f"{sum(map(is_fine, found))} of {len(found)} settings of {len(ran)} models are equal or refused")
    failed = [line for row in ran for line in worse(row, expected.get(row["name"]))]
    for line in failed:
        print(f"worse than expected: {line}")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
