"""dist-verify against wrong collectives: each of a divided model in turn is dropped, goes over another axis of the mesh
(or, with experts, over all of them), or takes the maximum of what it should sum.

    mutations.py WORKDIR MODEL.hone...

Each mutant of @step, on each mesh, must be refused. One that is accepted must compute the numbers of the model in
hone-run, or the check fails: a maximum of numbers that are the same, say. So far there is none of either kind.

Prints a line per mutant that is accepted and one per model and mesh; exits 1 if a wrong one was accepted, or if a
program was refused that is as dist-partition made it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

# Options of dist-annotate, the axes among them, and the least number of mutants; of a mixture also which of them may be
# accepted, and the recipe.
MESHES = (
    ("mesh=dp=2", ("dp",), 30),
    ("mesh=fs=2", ("fs",), 20),
    ("mesh=dp=2,tp=2 sequence=true", ("dp", "tp"), 80),
    ("mesh=tp=4", ("tp", "tp.r"), 30),  # of the Llama's heads two axes
    ("mesh=dp=2,cp=2 context=gather", ("dp", "cp"), 60),
    ("mesh=dp=2,cp=2 context=heads", ("dp", "cp"), 60),
    ("mesh=dp=2,cp=2 context=ring", ("dp", "cp"), 60),
)
# Of a mixture of experts: sums over ep of gradients of experts are one too many, those of other gradients are needed. Of a
# rank's one group and one block a reshape hides which of the two dimensions an axis divides: a gather of tokens, or a
# scatter of their sums, may go over dp in place of ep (two of each in two layers); where rows are sent, the all-to-all of
# their counts and weights, of one column. Nothing else may.
EXPERT_MESHES = (
    ("mesh=ep=2", ("ep",), 30),
    ("mesh=dp=2,ep=2", ("dp", "ep"), 100, re.compile(r"over dp: .*(reduce_scatter|all_gather) .*%reshape")),
    ("mesh=ep=2", ("ep",), 30, None, "ep-all-to-all"),
    ("mesh=dp=2,ep=2", ("dp", "ep"), 100, re.compile(r"over dp: .*all_to_all .*(xi32|x1xf32)> ->"), "ep-all-to-all"),
)
PARTITION = ("--dist-propagate", "--dist-partition")
VERIFY = ("--split-input-file", "--dist-verify", "--mlir-print-op-on-diagnostic=false", "-o", "/dev/null")
SAME = ("--ranks", "--f64", "--entry", "step", "--args", "1", "--rtol", "1e-7", "--atol", "1e-9")
SPLIT = "\n// -----\n"

COLLECTIVE = re.compile(r"\s*(%\w+) = dist\.(?:all_reduce|reduce_scatter|all_gather|all_to_all) .*?(%\w+)[ ,].*over (\[.*?\])")


@dataclass
class Mutant:
    what: str
    text: str  # a module


def run(*command: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def must(*command: str | Path) -> None:
    done = run(*command)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr[:2000]}")


def step_alone(text: str) -> list[str]:
    """The module without its other functions, by lines."""
    lines, kept, inside = text.splitlines(), [], False
    for line in lines:
        if line.startswith("  func.func"):
            inside = "@step(" not in line
        if not inside:
            kept.append(line)
        if line == "  }":
            inside = False
    return kept


def mutants(lines: list[str], axes: tuple[str, ...]) -> Iterator[Mutant]:
    def module(index: int, changed: list[str], rest: list[str]) -> str:
        return "\n".join(lines[:index] + changed + rest)

    for index, line in enumerate(lines):
        if not (found := COLLECTIVE.match(line)):
            continue
        result, operand, over = found.groups()
        rest, name = lines[index + 1:], line.strip()
        if "dist.all_reduce" in line:  # others change the shape
            other = re.compile(re.escape(result) + r"(?![\w#:])")
            yield Mutant(f"dropped: {name}", module(index, [], [other.sub(operand, after) for after in rest]))
        for kind in ("all_reduce", "reduce_scatter"):
            changed = re.sub(rf"dist\.{kind} +sum", f"dist.{kind} max", line)
            if changed != line:
                yield Mutant(f"maximum: {name}", module(index, [changed], rest))
        every = [list(axes)] if "ep" in axes and "dist.all_reduce" in line else []
        for other in [[axis] for axis in axes] + every:
            if json.loads(over) != other and len(axes) != 1:
                changed = line.replace(f"over {over}", f"over {json.dumps(other)}")
                yield Mutant(f"over {', '.join(other)}: {name}", module(index, [changed], rest))


def accepted(path: Path, modules: list[str]) -> list[int]:
    """Which modules dist-verify accepts, all in one process."""
    path.write_text(SPLIT.join(modules))
    begins, line = {}, 1
    for index, text in enumerate(modules):
        begins[line] = index
        line += text.count("\n") + 1 + SPLIT.count("\n") - 1
    errors = run("hone-opt", path, *VERIFY).stderr
    refused = set()
    for at, offset, why in re.findall(r"split at .*?:(\d+) offset :(\d+):\d+: error: (.*)", errors):
        if " axis " not in why:
            sys.exit(f"a mutant is no module: {why}")
        last = max(begin for begin in begins if begin <= int(at) + int(offset))
        refused.add(begins[last])
    return [index for index in range(len(modules)) if index not in refused]


def check(work: Path, model: Path, options: str, axes: tuple[str, ...], least: int, hidden: re.Pattern | None = None,
          recipe: str = "") -> int:
    """How many wrong programs are accepted, and right ones refused."""
    step, parts, batch = work / "step.mlir", work / "parts.mlir", work / "mutants.mlir"
    must("hone-opt", model / "graph.mlir", f"--hone-pipeline=upto=step {options.split()[0]}" + f" recipe={recipe}" * bool(recipe),
         "-o", step)
    must("hone-opt", step, f"--dist-annotate={options}", *PARTITION, "-o", parts)
    lines = step_alone(parts.read_text())
    right = "\n".join(lines)
    all_mutants = list(mutants(lines, axes))
    passed = accepted(batch, [right] + [mutant.text for mutant in all_mutants])
    failures = 0
    if 0 not in passed:
        print(f"{model.name} {options}: refused as it is")
        failures += 1
    for index in passed:
        if index == 0:
            continue
        mutant = all_mutants[index - 1]
        batch.write_text(mutant.text)
        is_same = run("hone-run", "--compare", step, batch, *SAME).returncode == 0
        print(f"{model.name} {options}: accepted, {'the same' if is_same else 'other'} numbers: {mutant.what}")
        failures += not is_same and not (hidden and hidden.match(mutant.what))
    print(f"{model.name} {options}: {len(all_mutants)} mutants, {len(passed) - (0 in passed)} accepted")
    if len(all_mutants) < least:
        print(f"{model.name} {options}: expected {least} mutants at least")
        failures += 1
    return failures


def main() -> int:
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    failures = 0
    for model in map(Path, sys.argv[2:]):
        meshes = EXPERT_MESHES if "mixtral" in model.name else MESHES
        failures += sum(check(work, model, *mesh) for mesh in meshes)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
