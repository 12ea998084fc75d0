#!/usr/bin/env python3
"""Trains a package that is annotated by hand: ranks_annotated.py PACKAGE WORKDIR HOW [CASE[:K]]...

A GPT-2 of the front end gets a mesh, shardings and constraints in its graph.mlir, as a user writes them, and nothing else
of it changes. It is trained on all ranks (HOW: interpreter, or compiled, under mpi) with K micro-batches, and compared
with the model as it was exported on one rank, as in ranks.py. Cases:

    tensor    the batch along dp, the MLPs along tp: weights, and what is between them
    sequence  the same, and what is added up between the layers along positions
    sharded   batch and weights along fs, weights gathered again for the backward part
    weights   open dimensions: of the MLPs one weight each, the rest by what follows
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ranks import MPI, RATE, STEPS, TOLERANCE, Trainer, differences, launcher, weights


@dataclass(frozen=True)
class Annotations:
    mesh: str  # as dist.mesh has it
    ranks: int
    arguments: dict[str, str]  # what a name matches, and its sharding
    constraints: dict[str, str] = field(default_factory=dict)  # the same of the results of ops, by what is in their line
    more: str = ""  # other attributes of each parameter that has a sharding


BATCH = {"tokens": '{"dp"}, {}'}
MLP = {r".*mlp\.up\.weight": '{"tp"} p1, {}', r".*mlp\.down\.weight": '{}, {"tp"} p1'}
HIDDEN = {'"hone.gelu"': '{"dp"}, {}, {"tp"} p1'}
CASES = {
    "tensor": Annotations('[<"dp" = 2>, <"tp" = 2>]', 4, BATCH | MLP, HIDDEN),
    "sequence": Annotations('[<"dp" = 2>, <"tp" = 2>]', 4, BATCH | MLP, HIDDEN | {'"hone.dropout"': '{"dp"}, {"tp"} p2, {}'}),
    "sharded": Annotations(
        '[<"fs" = 4>]', 4, {"tokens": '{"fs"}, {}', "targets": '{"fs"}, {}', r".*(mlp|attn)\..*weight": '{"fs"} p3, {}'},
        more="dist.regather, ",
    ),
    "weights": Annotations('[<"dp" = 2>, <"tp" = 2>]', 4, {"tokens": '{"dp"}, {?}', r".*mlp\.up\.weight": '{"tp", ?} p1, {?}'}),
}

ARGUMENT = re.compile(r'^( *%[\w.$-]+: tensor<[^>]*> \{)(.*hone\.fqn = "([^"]*)".*)$')
RESULT = re.compile(r"^( *)(%[\w.$-]+) = .*-> (tensor<[^>]*>)( loc\(.*\))?$")


def annotate(graph: str, how: Annotations) -> str:
    """The text of a graph with the annotations in it."""
    lines, renamed = [], {}
    for line in graph.splitlines():
        line = re.sub(r"%[\w.$-]+", lambda name: renamed.get(name[0], name[0]), line)
        if argument := ARGUMENT.match(line):
            begin, rest, name = argument.groups()
            for wanted, sharding in how.arguments.items():
                if re.fullmatch(wanted, name):
                    more = how.more if 'hone.kind = "param"' in rest else ""
                    line = f"{begin}{more}dist.sharding = #dist.sharding<{sharding}>, {rest}"
        lines.append(line)
        if line.startswith("module"):
            lines.append(f"  dist.mesh @mesh {how.mesh}")
        for op, sharding in how.constraints.items():
            if op in line:
                indent, name, kind, _ = RESULT.match(line).groups()
                renamed[name] = f"%constrained{name[1:]}"
                lines.append(f"{indent}{renamed[name]} = dist.constrain {name} to <{sharding}> : {kind}")
    return "\n".join(lines) + "\n"


def train(trainer: Trainer, package: Path, name: str, ranks: int, micro: int) -> tuple:
    """The log and the weights of a run; `trainer` has its tokens and place."""
    log, saved = trainer.work / f"{name}.jsonl", trainer.work / f"{name}.safetensors"
    options = [f"--micro-batches={micro}"]
    if trainer.how == "interpreter":
        command = ["hone-run", package, *options]
    else:
        binary = trainer.work / name
        subprocess.run(["honec", package, "-o", binary, *options], check=True)
        command = [*launcher(trainer.how, ranks), binary, "--threads", "1", "--comm-timeout", "60", "--check-replicas", "1"]
    command += ["--data", trainer.tokens, "--val-data", trainer.tokens, "--val-batches", "2", "--steps", str(STEPS)]
    command += ["--lr", str(RATE), "--seed", "5", "--init", package / "model.safetensors"]
    command += ["--save", saved, "--log", log, "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | MPI)
    return [*map(json.loads, log.read_text().splitlines())], weights(saved)


def main(argv: list[str]) -> int:
    package, work, how, *cases = Path(argv[1]), Path(argv[2]), *argv[3:]
    work.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(package, work, how, options=[])
    alone: dict[int, tuple] = {}
    failures = 0
    for case in cases:
        name, _, micro = case.partition(":")
        count = int(micro or 1)
        if count not in alone:
            alone[count] = trainer.train(f"alone{count}", "", "", count)
        annotated = work / f"{name}.hone"
        shutil.copytree(package, annotated, dirs_exist_ok=True)
        graph = annotate((package / "graph.mlir").read_text(), CASES[name])
        (annotated / "graph.mlir").write_text(graph)
        numbers, worst = differences(alone[count], train(trainer, annotated, f"{name}{count}", CASES[name].ranks, count))
        agrees = numbers <= TOLERANCE and worst <= 0.02 * RATE * STEPS
        failures += not agrees
        print(f"{name} x{count}: {'equal' if agrees else 'DIFFERENT'}, numbers {numbers:.2g}, weights {worst:.2g}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
