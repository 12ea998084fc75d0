#!/usr/bin/env python3
"""Compares our checkpoint selection with a mixed-integer program, solved by cbc, and with exact search.

The program is Checkmate's (Jain et al. 2020): the step is a sequence of ops, each with one result; stage t of the
program runs op t for the first time and may run earlier ones again, each once, in the order of the sequence. The
search knows no order and finds the least cost of all. Our planner sees the same step as a chain of stages.

    milp.py --seed N --chains N [--layers N]     blocks of random sizes and costs, each chain at several budgets
    milp.py --seed N --chains N --any            layers of any ops, where little is alike
    milp.py --toy                                the toy layer whose optima the unit tests hold

What the program can do and a chain of stages cannot: drop a stage's output and make it again from what the same stage
has saved, and drop it in the middle of a visit. Layers of any ops have use for that, those of transformers hardly.
"""

from __future__ import annotations

import argparse
import heapq
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

INFEASIBLE = float("inf")


@dataclass
class Op:
    name: str
    bytes: int
    cost: int
    reads: list[str]


@dataclass
class Layer:
    """Ops between the layer's input `x` and output, and back from its gradient `d` to that of the input."""

    forward: list[Op]
    backward: list[Op]


@dataclass
class Step:
    """A step as a sequence of ops, and as the text that plan-chain reads."""

    ops: list[Op] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


def build(layers: list[Layer]) -> Step:
    """The first layer makes its own input, the last one the gradient of the loss."""
    step = Step()
    last = len(layers) - 1
    forward: list[Op] = []
    backward: list[Op] = []
    for number, layer in enumerate(layers):
        # x and d of this layer are the output of the one before and the gradient from the one after.
        def name(value: str, number: int = number, layer: Layer = layer) -> str:
            if value == "x":
                return f"{layers[number - 1].forward[-1].name}{number - 1}" if number else "x"
            if value == "d":
                return f"{layers[number + 1].backward[-1].name}{number + 1}" if number < last else "d"
            return f"{value}{number}"

        lines = ["stage"]

        def unit(way: str, op: Op, kind: str) -> None:
            result = op.name if op.name in ("x", "d") else name(op.name)
            named = Op(result, op.bytes, op.cost, [name(read) for read in op.reads])
            (forward if way == "forward" else backward).append(named)
            lines.append(f"{way} {op.cost} {named.name} {op.bytes} {kind} {' '.join(named.reads)}")

        if number == 0:
            unit("forward", Op("x", 2, 1, []), "inner")
        else:
            lines.append(f"value {name('x')} {layers[number - 1].forward[-1].bytes} input")
        for op in layer.forward:
            is_output = op is layer.forward[-1] and number != last
            unit("forward", op, "output" if is_output else "inner")
        if number == last:
            unit("forward", Op("d", layer.forward[-1].bytes, 1, [layer.forward[-1].name]), "inner")
        else:
            lines.append(f"value {name('d')} {layers[number + 1].backward[-1].bytes} gradient-in")
        mark = len(backward)
        for op in layer.backward:
            unit("backward", op, "gradient-out" if op is layer.backward[-1] else "inner")
        step.text += lines
        # Backward of the last layer comes first in the sequence.
        backward[:] = backward[mark:] + backward[:mark]
    step.ops = forward + backward
    return step


def random_layer(rng: random.Random, size: int) -> Layer:
    """Every result of the forward ops is read, the output is the only one that leaves."""
    count = rng.randint(2, 3)
    forward = []
    for number in range(count):
        before = ["x"] + [op.name for op in forward]
        reads = {before[-1]} | ({rng.choice(before)} if rng.random() < 0.4 else set())
        is_last = number == count - 1
        forward.append(Op(f"f{number}", size if is_last else rng.randint(1, 8), rng.randint(1, 30), sorted(reads)))
    inner = ["x"] + [op.name for op in forward[:-1]]
    backward = []
    for number in range(count):
        before = [op.name for op in backward] or ["d"]
        reads = {before[-1], inner[count - 1 - number]}
        if rng.random() < 0.3:
            reads.add(rng.choice(["d"] + inner))
        is_last = number == count - 1
        backward.append(Op(f"b{number}", size if is_last else rng.randint(1, 8), rng.randint(1, 50), sorted(reads)))
    return Layer(forward, backward)


def random_block(rng: random.Random, size: int) -> Layer:
    """Norm, two contractions with an activation between, residual: the costs of a transformer in their order."""
    wide = size * rng.randint(3, 4)
    up, down = rng.randint(20, 40), rng.randint(20, 40)
    forward = [
        Op("n", size, rng.randint(1, 4), ["x"]), Op("u", wide, up, ["n"]), Op("g", wide, rng.randint(3, 8), ["u"]),
        Op("o", size, down, ["g", "x"]),
    ]  # fmt: skip
    backward = [
        Op("dg", wide, 2 * down, ["d", "g"]), Op("du", wide, rng.randint(5, 12), ["dg", "u"]),
        Op("dn", size, 2 * up, ["du", "n"]), Op("dx", size, rng.randint(2, 6), ["dn", "x", "d"]),
    ]  # fmt: skip
    return Layer(forward, backward)


def toy_layer() -> Layer:
    forward = [
        Op("ln1", 2, 2, ["x"]), Op("qkv", 6, 22, ["ln1"]), Op("at", 2, 7, ["qkv"]), Op("r1", 2, 10, ["x", "at"]),
        Op("ln2", 2, 2, ["r1"]), Op("f1", 8, 30, ["ln2"]), Op("g", 8, 6, ["f1"]), Op("o", 2, 32, ["r1", "g"]),
    ]  # fmt: skip
    backward = [
        Op("dg", 8, 60, ["d", "g"]), Op("df", 8, 10, ["dg", "f1"]), Op("dl", 2, 60, ["df", "ln2"]),
        Op("dr", 2, 5, ["dl", "r1", "d"]), Op("da", 2, 15, ["dr", "at"]), Op("dq", 6, 20, ["da", "qkv", "at"]),
        Op("dn", 2, 45, ["dq", "ln1"]), Op("dx", 2, 5, ["dn", "x", "dr"]),
    ]  # fmt: skip
    return Layer(forward, backward)


# ---- The program ----------------------------------------------------------------------------------------------------


def write_program(ops: list[Op], budget: int, path: Path) -> None:
    """Binary R[t,i]: stage t runs op i. S[t,i]: result i is there when stage t begins. F[t,i,k]: result i goes right
    after stage t has run op k. U[t,k]: bytes while stage t runs op k."""
    number = {op.name: index for index, op in enumerate(ops)}
    reads = [[number[read] for read in op.reads] for op in ops]
    readers = [[k for k in range(len(ops)) if i in reads[k]] for i in range(len(ops))]
    rows: list[str] = []
    binaries: list[str] = []
    for t in range(len(ops)):
        binaries += [f"R_{t}_{i}" for i in range(t + 1)] + [f"S_{t}_{i}" for i in range(t)]
        rows.append(f"R_{t}_{t} = 1")
        for i in range(t):
            before = f" - S_{t - 1}_{i}" if i < t - 1 else ""
            rows.append(f"S_{t}_{i} - R_{t - 1}_{i}{before} <= 0")
        for k in range(t + 1):
            for i in reads[k]:
                there = f" - S_{t}_{i}" if i < t else ""
                rows.append(f"R_{t}_{k} - R_{t}_{i}{there} <= 0")
        for k in range(t + 1):
            for i in reads[k] + [k]:
                free = f"F_{t}_{i}_{k}"
                binaries.append(free)
                rows.append(f"{free} - R_{t}_{k} <= 0")
                if t + 1 < len(ops):
                    rows.append(f"{free} + S_{t + 1}_{i} <= 1")
                rows += [f"{free} + R_{t}_{later} <= 1" for later in readers[i] if k < later <= t]
        held = "".join(f" - {ops[i].bytes} S_{t}_{i}" for i in range(t))
        rows.append(f"U_{t}_0 - {ops[0].bytes} R_{t}_0{held} = 0")
        for k in range(t):
            freed = "".join(f" + {ops[i].bytes} F_{t}_{i}_{k}" for i in reads[k] + [k])
            rows.append(f"U_{t}_{k + 1} - U_{t}_{k} - {ops[k + 1].bytes} R_{t}_{k + 1}{freed} = 0")
        rows += [f"U_{t}_{k} <= {budget}" for k in range(t + 1)]
    cost = " + ".join(f"{ops[i].cost} R_{t}_{i}" for t in range(len(ops)) for i in range(t + 1))
    lines = ["Minimize", f" cost: {cost}", "Subject To"] + [f" c{n}: {row}" for n, row in enumerate(rows)]
    path.write_text("\n".join(lines + ["Binaries"] + [f" {name}" for name in binaries] + ["End", ""]))


def solve_program(ops: list[Op], budget: int, seconds: int) -> float | None:
    """The optimum, infinite where there is none, nothing where the time was too short to prove it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.lp"
        write_program(ops, budget, path)
        said = subprocess.run(
            ["cbc", str(path), "sec", str(seconds), "solve"], capture_output=True, text=True, check=True
        ).stdout
    if "infeasible" in said.lower() and "Objective value" not in said:
        return INFEASIBLE
    found = re.search(r"Objective value:\s+([-\d.]+)", said)
    return float(found.group(1)) if found and "Optimal solution found" in said else None


def search(ops: list[Op], budget: int, most_states: int = 60_000) -> float | None:
    """The least cost of any order, by shortest path over sets of live results; nothing where there are too many."""
    number = {op.name: index for index, op in enumerate(ops)}
    reads = [sum(1 << number[read] for read in op.reads) for op in ops]
    start = (0, 0)
    least = {start: 0}
    queue = [(0, start)]
    while queue:
        cost, (live, reached) = heapq.heappop(queue)
        if cost > least[live, reached]:
            continue
        if reached == len(ops):
            return cost
        if len(least) > most_states:
            return None
        held = sum(op.bytes for index, op in enumerate(ops) if live >> index & 1)
        following = [(cost, (live & ~(1 << index), reached)) for index in range(len(ops)) if live >> index & 1]
        for index in range(min(reached + 1, len(ops))):
            if not live >> index & 1 and not reads[index] & ~live and held + ops[index].bytes <= budget:
                following.append((cost + ops[index].cost, (live | 1 << index, max(reached, index + 1))))
        for new_cost, state in following:
            if new_cost < least.get(state, INFEASIBLE):
                least[state] = new_cost
                heapq.heappush(queue, (new_cost, state))
    return INFEASIBLE


# ---- Comparison -----------------------------------------------------------------------------------------------------


def plan(step: Step, budgets: list[int]) -> dict[int, tuple[float, int]]:
    """Cost and peak of our schedule per budget; no peak where there is none."""
    text = "\n".join(step.text + [f"budget {budget}" for budget in budgets]) + "\n"
    said = subprocess.run(["plan-chain"], input=text, capture_output=True, text=True, check=True).stdout
    result = {}
    for line in said.splitlines():
        budget, cost, *peak = line.split()
        result[int(budget)] = (float(cost), int(peak[0])) if peak else (INFEASIBLE, 0)
    return result


def compare(args: argparse.Namespace) -> int:
    rng = random.Random(args.seed)
    good = compared = below = above = 0
    for chain in range(args.chains):
        size = rng.randint(1, 3)
        layer = random_layer if args.any else random_block
        step = build([layer(rng, size) for _ in range(args.layers)])
        all_bytes = sum(op.bytes for op in step.ops)
        budgets = sorted({all_bytes * part // 100 for part in (30, 40, 50, 60)})
        for budget, (cost, peak) in plan(step, budgets).items():
            program = solve_program(step.ops, budget, args.seconds)
            exact = search(step.ops, budget)
            print(f"chain {chain}, {len(step.ops)} ops, {budget} bytes: ours {cost}, program {program}, exact {exact}")
            below += exact is not None and cost < exact - 1e-6
            above += peak > budget
            if program is not None and program != INFEASIBLE:
                compared += 1
                good += cost <= 1.01 * program
    print(f"{below} below the exact optimum\n{above} above the budget")
    print(f"{good} of {compared} budgets within 1 % of the program or below")
    return 0 if not below and not above and good >= args.share * compared else 1


def toy(args: argparse.Namespace) -> int:
    for layers, budgets in ((1, (28, 24, 22)), (2, (50, 40, 32)), (3, (70, 45)), (4, (90, 60))):
        step = build([toy_layer()] * layers)
        for budget, (cost, _) in plan(step, list(budgets)).items():
            program = solve_program(step.ops, budget, args.seconds)
            print(f"{layers} layers, {budget} bytes: ours {cost}, program {program}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--chains", type=int, default=6)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=30, help="for one program")
    parser.add_argument("--share", type=float, default=0.9, help="of the budgets that must be within 1 %%")
    parser.add_argument("--any", action="store_true")
    parser.add_argument("--toy", action="store_true")
    args = parser.parse_args()
    return toy(args) if args.toy else compare(args)


if __name__ == "__main__":
    sys.exit(main())
