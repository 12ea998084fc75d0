"""Random graphs under random shardings: what ranks compute together against the graph itself.

    sharded.py WORKDIR [--graphs N] [--first SEED] [--exact never|some|always]
                                                       (in the check: 240 graphs; a long run: 1000)

A graph of the kinds of passes.py gets a mesh of one to three axes, shardings of some of its arguments and results, and
constraints of some of its values, all at random: even, with a cut or a priority now and then, open or closed, of
gradients also partial. After dist-propagate, dist-partition and dist-verify, hone-run runs all ranks in double and puts
their parts together; copies of one element must agree in every bit, results with the graph's own up to the error of sums
in another order. Some batches go on to collectives of blocks and buckets, and some of those to groups whose exchanges
overlap with others. Some are exact (hone-set-mesh-invariant): their results must have every bit of the graph's own, in fp32.

Prints a line per failure with the seed that repeats it, the share of graphs in which each pass did something, and a
summary; exits 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Iterable, Iterator

from modules import Modules, call, functions_of, module, optimize
from passes import CLEAN, SOURCES

# Sums in another order, of graphs of some hundred ops; constants are of fp32.
NEAR = ("--f64", "--rtol", "1e-7", "--atol", "1e-7")
EQUAL = ("--rtol", "0", "--atol", "0")  # 0 equals -0
KINDS = ("smooth", "forward", "gradient", "model", "model gradient", "model step", "model batches", "lion step",
         "muon step", "coded step")
MESHES = ((("a", 2),), (("a", 2), ("b", 2)), (("a", 4), ("b", 2)), (("a", 2), ("b", 3)), (("a", 2), ("b", 2), ("c", 2)))
PARTITION = (("--dist-propagate",), ("--dist-partition",), ("--dist-verify",))
BUCKETS = ("", "=bytes=64", "=bytes=1024")  # by default small graphs have one each
DECOMPOSE = ("--hone-decompose-rows", *CLEAN)
OVERLAP = ("--hone-overlap-collectives=always",)
# The least share of the graphs that reach a pass in which it must do something.
FIRES = {"hone-set-mesh-invariant": 1, "dist-propagate": 1, "dist-partition": 1, "dist-lower-collectives": 0.3,
         "dist-bucket-collectives": 0.3, "hone-overlap-collectives": 0.2}
BATCH = 20  # graphs that go through the tools at once, on one mesh

Mesh = tuple[tuple[str, int], ...]


@dataclass
class Annotator:
    """Writes random shardings into the text of a function."""

    mesh: Mesh
    pick: random.Random
    may_be_partial: bool  # gradients
    returned: list[str] = field(default_factory=list)

    def dim(self, size: int, axes: list[tuple[str, int]]) -> str:
        text = ", ".join(f'"{name}"' for name, _ in axes)
        parts = prod(size for _, size in axes)
        cuts = ""
        if axes and size >= 2 * parts and self.pick.random() < 0.2:
            cuts = f" cuts [{self.pick.randrange(1, size // parts) * parts}]"
        if self.pick.random() < 0.3:
            text += ", ?" if text else "?"
        return "{" + text + cuts + "}" + (f" p{self.pick.randrange(1, 3)}" if self.pick.random() < 0.2 else "")

    def sharding(self, shape: list[int], may_be_partial: bool = False) -> str:
        """Each axis on a dimension that it divides, or on none; of those some with terms, where they may be."""
        axes: list[list[tuple[str, int]]] = [[] for _ in shape]
        for name, size in self.mesh:
            fits = [dim for dim, own in enumerate(axes)
                    if shape[dim] and shape[dim] % (prod(n for _, n in own) * size) == 0]
            if fits and self.pick.random() < 0.7:
                axes[self.pick.choice(fits)].append((name, size))
        used = {name for own in axes for name, _ in own}
        terms = [f'"{name}"' for name, _ in self.mesh if may_be_partial and name not in used and self.pick.random() < 0.6]
        parts = [", ".join(map(self.dim, shape, axes)), f"partial sum [{', '.join(terms)}]" if terms else ""]
        return f"<{' '.join(filter(None, parts))}>"

    def tensor(self, text: str, share: float) -> str:
        """`tensor<...> {attributes}` with a sharding among its attributes, or as it was."""
        match = re.match(r"(.*tensor<((?:\d+x)*)\w+>)(.*)$", text, re.DOTALL)
        if not match or self.pick.random() >= share:
            return text
        shape = [int(size) for size in match[2].split("x") if size]
        may_be_partial = self.may_be_partial and 'hone.kind = "grad"' in match[3]
        attribute = f"dist.sharding = #dist.sharding{self.sharding(shape, may_be_partial)}"
        rest = match[3].strip()
        return f"{match[1]} {{{attribute}{', ' + rest[1:] if rest else '}'}"

    def header(self, line: str) -> str:
        name, rest = re.match(r"(\s*func\.func @\w+)(\(.*) \{$", line).groups()
        end = closing(rest)
        taken = ", ".join(self.tensor(part, 0.6) for part in split(rest[1:end]))
        results = rest[end + 1:].removeprefix(" -> ")
        inner = results[1:-1] if results.startswith("(") else results
        is_first = [value not in self.returned[:place] for place, value in enumerate(self.returned)]
        given = ", ".join(self.tensor(part, 0.4 * first) for part, first in zip(split(inner), is_first))
        return f"{name}({taken}) -> ({given}) {{"

    def body(self, line: str) -> str:
        """A constraint behind an op with one result now and then."""
        match = re.match(r"\s+(%[\w.$-]+) = hone\..*?(tensor<((?:\d+x)*)\w+>)$", line)
        # The type behind it is the result's, where there is an arrow or one type alone.
        known = match and (" -> " in line or line.count("tensor<") == 1)
        if not known or match[1] in self.returned or self.pick.random() >= 0.05:
            return line
        shape = [int(size) for size in match[3].split("x") if size]
        free = f"%free_{match[1][1:]}"
        kept = line.replace(f"{match[1]} =", f"{free} =", 1)
        return f"{kept}\n    {match[1]} = dist.constrain {free} to {self.sharding(shape)} : {match[2]}"

    def function(self, text: str) -> str:
        head, *lines = text.splitlines()
        self.returned = re.findall(r"%[\w.$#-]+", lines[-2].split(" : ")[0])
        return "\n".join([self.header(head), *map(self.body, lines)]) + "\n"


def closing(text: str) -> int:
    """Where the bracket closes that `text` begins with."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    raise ValueError(f"no bracket closes in {text}")


def split(text: str) -> Iterator[str]:
    """The parts of `a, b {c, d}, e` between commas that no bracket holds."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter in "{[(<") - (letter in "}])>")
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()


def mesh_line(mesh: Mesh) -> str:
    return "dist.mesh @mesh [" + ", ".join(f'<"{name}" = {size}>' for name, size in mesh) + "]\n"


def as_program(text: str) -> str:
    """What is trained is named @step, where passes on programs look for it."""
    if "@step(" in text or "@update(" in text:
        return text
    return text.replace("@gradient(" if "@gradient(" in text else "@forward(", "@step(")


def renamed(modules: Modules, mesh: Mesh) -> str:
    """One module of all functions of all graphs, named after both."""
    parts = [text.replace(f"func.func @{name}(", f"func.func @{graph}_{name}(", 1)
             for graph, whole in modules.items() for name, text in functions_of(whole).items()]
    return "module {\n" + mesh_line(mesh) + "".join(parts) + "}\n"


@dataclass
class Tally:
    problems: list[str] = field(default_factory=list)
    exchanging: int = 0  # graphs with collectives
    reached: Counter[str] = field(default_factory=Counter)  # graphs that came to a pass
    changed: Counter[str] = field(default_factory=Counter)  # graphs that it changed

    def through(self, work: Path, modules: Modules, steps: Iterable[tuple[str, ...]]) -> Modules:
        """All modules that pass all steps; of each, its first flag is the pass that is counted."""
        for flags in steps:
            done = optimize(work, modules, flags)
            name = flags[0].removeprefix("--").split("=")[0]
            self.problems += [f"{graph}: {done.errors}" for graph in modules if graph not in done.modules]
            self.reached[name] += len(modules)
            self.changed[name] += sum(text != modules[graph] for graph, text in done.modules.items())
            modules = done.modules
        return modules

    def shares(self) -> list[str]:
        return [f"{name}: changed {self.changed[name]} of {self.reached[name]} graphs" for name in FIRES]

    def idle(self) -> list[str]:
        return [f"{name} changed {self.changed[name]} of {self.reached[name]} graphs, expected {least:.0%}"
                for name, least in FIRES.items() if self.changed[name] < least * self.reached[name]]


@dataclass(frozen=True)
class Course:
    """Which passes a batch goes through after dist-verify, and how it is compared."""

    is_exact: bool
    buckets: str | None  # options of dist-bucket-collectives; None: it ends before
    has_groups: bool

    @staticmethod
    def of(seed: int, exact: str) -> Course:
        pick = random.Random(f"course {seed}")
        is_exact = pick.random() < {"never": 0, "some": 0.4, "always": 1}[exact]
        buckets = pick.choice(BUCKETS) if pick.random() < 0.7 else None
        return Course(is_exact, buckets, buckets is not None and pick.random() < 0.6)

    def steps(self) -> Iterator[tuple[str, ...]]:
        if self.is_exact:
            yield ("--hone-set-mesh-invariant",)
        yield from PARTITION
        if self.buckets is not None:
            yield from (("--dist-lower-collectives",), (f"--dist-bucket-collectives{self.buckets}",), CLEAN)
        if self.has_groups:
            yield from (DECOMPOSE, ("--hone-fuse-groups",), OVERLAP)


def check(work: Path, kind: str, mesh: Mesh, seeds: list[int], course: Course, tally: Tally) -> None:
    """Adds what one batch shows to the tally."""
    source = SOURCES[kind]
    label = kind.replace(" ", "")
    raw = {f"{label}{seed}": source.module(f"{label}{seed}", seed) for seed in seeds}
    plain = {graph: as_program(text) for graph, text in optimize(work, raw, source.prepare).modules.items()}
    tally.problems += [f"{graph}: is not prepared" for graph in raw if graph not in plain]
    sharded = {}
    for graph, text in plain.items():
        annotator = Annotator(mesh, random.Random(f"{graph} {mesh}"), may_be_partial=not course.is_exact)
        functions = "".join(map(annotator.function, functions_of(text).values()))
        sharded[graph] = module(graph, mesh_line(mesh) + functions)
    done = tally.through(work, sharded, course.steps())
    tally.exchanging += sum("dist.all_" in text or "dist.reduce_scatter" in text for text in done.values())
    kept = {graph: text for graph, text in plain.items() if graph in done}
    if course.has_groups:  # primitives round where one op does not
        kept = optimize(work, kept, DECOMPOSE).modules
    first, second = work / "before.mlir", work / "after.mlir"
    first.write_text(renamed(kept, mesh))
    second.write_text(renamed(done, mesh))
    ran = call("hone-run", "--compare", first, second, "--ranks", "--args", "1", *(EQUAL if course.is_exact else NEAR))
    wrong = [line for line in ran.stdout.splitlines() if ": different" in line]
    if ran.returncode != 0 and not wrong:
        wrong = (ran.stderr.splitlines() or [f"hone-run exits with {ran.returncode}"])[:1]
    tally.problems += [f"{'exact ' if course.is_exact else ''}{line}" for line in wrong]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--graphs", type=int, default=240)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--exact", choices=("never", "some", "always"), default="some", help="which batches are exact")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    seeds = range(options.first, options.first + options.graphs)
    for start in range(seeds.start, seeds.stop, BATCH):
        batch = list(range(start, min(start + BATCH, seeds.stop)))
        mesh = MESHES[start // BATCH % len(MESHES)]
        kind = KINDS[start // BATCH % len(KINDS)]
        check(options.work, kind, mesh, batch, Course.of(start // BATCH, options.exact), tally)
    problems = tally.problems + tally.idle()
    if tally.exchanging < options.graphs / 2:
        problems.append(f"ranks exchange something in {tally.exchanging} graphs, expected half of them")
    summary = f"{options.graphs} graphs, {tally.exchanging} with collectives, {len(problems)} failures"
    print("\n".join([*problems, *tally.shares(), summary]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
