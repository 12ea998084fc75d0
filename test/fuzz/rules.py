"""What must hold between graphs before and after a pass. A rule takes a case and returns complaints, graph by graph."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from adapt import adapt
from modules import Modules, call, compare, functions_of, merge
from steps import reference

# In double, after some ten ops that each may lose a digit; constants such as smoothing over classes round to fp32.
EXACT = ("--f64", "--rtol", "1e-8", "--atol", "1e-8")
# Twice the original's distance from the same graph in double, or what an ulp in the arguments makes of it; and four
# ulps of fp32 of the result's own size, for results that the original hits by chance.
ROUNDED = ("--rmse", "2", "--floor", "2.4e-7")
COMPOSED = ("--rmse", "8", "--floor", "4.8e-7", "--either")


@dataclass(frozen=True)
class Case:
    work: Path
    before: Modules
    after: Modules
    smooth: bool
    flags: str = ""  # of the pass under test


Rule = Callable[[Case], list[str]]


def run(case: Case, options: tuple[str, ...]) -> list[str]:
    """Compares the functions that both sides have, the later ones behind the arguments of the earlier (adapt.py). Those
    that the pass did not touch need no run."""
    shared, complaints, adapted = {}, [], {}
    for graph, text in case.before.items():
        old, new = functions_of(text), functions_of(case.after[graph])
        names = [name for name in old if name in new and old[name] != new[name]]
        if not names:
            continue
        try:
            adapted[graph] = "".join(adapt(old[name], new[name]) for name in names)
            shared[graph] = {name: name for name in names}
        except KeyError as missing:
            complaints.append(f"{graph}: {missing}")
    if not shared:
        return complaints
    before, after = merge(case.before, shared), merge(adapted, shared)
    return complaints + [f"{graph}: {line}" for graph, line in compare(case.work, before, after, options).items()]


def same(case: Case) -> list[str]:
    """Equal numbers in fp32 (0 equals -0: adding a zero may change the sign)."""
    return run(case, ("--rtol", "0", "--atol", "0"))


def near(case: Case) -> list[str]:
    """The same in double, and as near to it in fp32."""
    return run(case, EXACT) + (run(case, ROUNDED) if case.smooth else [])


def composed(case: Case) -> list[str]:
    """The same in double, where constants such as the share of a smoothed class are still of fp32, off by up to 6e-8; in
    fp32 four times as far as `near` allows and eight roundings, or eight times what an ulp in each value makes:
    differences of sums, which the named op takes in double, are taken of rounded ones. So are the loss of a sure
    prediction, whose logarithm is nearly its score, and a norm over equal numbers."""
    return run(case, ("--f64", "--rtol", "1e-7", "--atol", "1e-7")) + run(case, COMPOSED)


def exact(case: Case) -> list[str]:
    """The same in double, where no type rounds."""
    return run(case, EXACT)


def low(case: Case) -> list[str]:
    """The same in double; in its own types, within what a few roundings to them may cost. Random graphs leave the
    range of fp16, where only the first can be said."""
    bounded = {graph: text for graph, text in case.before.items() if "xf16>" not in case.after[graph]}
    inexact = run(replace(case, before=bounded), ("--rmse", "2", "--floor", "0.5")) if bounded else []
    return run(case, EXACT) + inexact


def widened(case: Case) -> list[str]:
    """The same in double; with some results no longer rounded to bf16, within an ulp of that of the result's size."""
    return run(case, EXACT) + run(case, ("--rmse", "2", "--floor", "3.9e-3"))


def numbered(text: str) -> str:
    """With values named by their order: printed names come from locations, which text without them has lost. Regions
    beside each other may use a name each for values of their own."""
    names: dict[str, str] = {}
    made = 0

    def define(name: str) -> str:
        nonlocal made
        made += 1
        names[name] = f"%{made}"
        return names[name]

    def read(match: re.Match) -> str:
        name, colon = match.groups()
        return define(name) + colon if colon else names.get(name, name)

    lines = []
    for line in text.splitlines():
        left, equals, right = line.partition(" = ") if re.match(r"\s+%[^=]* = ", line) else ("", "", line)
        right = re.sub(r"(%[\w.$-]+)(: )?", read, right)  # a colon: an argument
        lines.append(re.sub(r"%[\w.$-]+", lambda match: define(match[0]), left) + equals + right)
    return "\n".join(lines)


def marked(case: Case) -> list[str]:
    """No function changes, the module's attributes do."""
    return [f"{graph}: a function changed" for graph, text in case.before.items()
            if functions_of(numbered(case.after[graph])) != functions_of(numbered(text))]


def raised(case: Case) -> list[str]:
    """Constants such as sqrt(2) were rounded to fp32 by the exporter; the named op has them exactly."""
    return run(case, ("--f64", "--rtol", "3e-6", "--atol", "3e-6")) + run(case, ROUNDED)


def unchanged(case: Case) -> list[str]:
    return [f"{graph}: changed by a verifier" for graph, text in case.before.items()
            if numbered(case.after[graph]) != numbered(text)]


def gradient(case: Case) -> list[str]:
    """Finite differences of @forward in double, and @evaluate equal to @forward where nothing is dropped."""
    source = case.work / "forward.mlir"
    source.write_text(merge(case.before, {graph: {"forward": "forward"} for graph in case.before}))
    done = call("hone-run", "--gradcheck", source, "--seed", "1", "--directions", "1",
                "--tolerance", "1e-5")
    wrong = [line for line in done.stdout.splitlines() if "WRONG" in line]
    # A mean over no target is nan, as in PyTorch.
    if done.returncode != 0 and not wrong and "nothing to compare" not in done.stdout:
        wrong = (done.stderr.splitlines() or [f"hone-run exits with {done.returncode}"])[:1]
    plain = [graph for graph, text in case.before.items() if "%key" not in text and "rng" not in text]
    mode = re.compile(r"select_mode training (%\S+) evaluation (%\S+)")
    evaluated = {graph: mode.sub(r"select_mode training \2 evaluation \2", case.before[graph]) for graph in plain}
    before = merge(evaluated, {graph: {"forward": "evaluate"} for graph in plain})
    after = merge(case.after, {graph: {"evaluate": "evaluate"} for graph in plain})
    different = compare(case.work, before, after, ("--rtol", "0", "--atol", "0")) if plain else {}
    return wrong + [f"{graph}: {line}" for graph, line in different.items()]


def step(case: Case) -> list[str]:
    """The step against one written by hand around the same @gradient (steps.py)."""
    complaints = []
    given = re.search(r"growth-interval=(\d+)", case.flags)
    interval = int(given[1]) if given else 2000
    written: Modules = {}
    names: dict[str, dict[str, str]] = {}
    for graph, text in case.after.items():
        after = functions_of(text)
        functions = reference(functions_of(case.before[graph]), after, text, interval)
        if not functions:
            complaints.append(f"{graph}: no step was built")
            continue
        written[graph] = "module {\n" + "".join(functions.values()) + "}\n"
        names[graph] = {name: name for name in functions}
    before, after = merge(written, names), merge(case.after, names)
    # The share of one of three micro-batches is a constant in fp32, off by 3e-8 of what is summed, which may cancel.
    different = compare(case.work, before, after, ("--f64", "--rtol", "1e-7", "--atol", "1e-6"))
    return complaints + [f"{graph}: {line}" for graph, line in different.items()]
