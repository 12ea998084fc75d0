#!/usr/bin/env python3
"""Proves that two builds of Hone do the same, to check a refactoring: same plans, same code, same losses, same weights.

  tools/compare-builds.py build/bin --record DIR        before the change: record what this build does
  tools/compare-builds.py DIR build/bin                 after it: compare the build with the recording
  tools/compare-builds.py BASE_BIN NEW_BIN              the same at once, for two builds

Either side of a comparison is a build's bin folder or a recording. A recording is made once and compared many times; it
lists its packages, settings and artifacts, which are then compared. One line is printed per package, setting and
artifact: `same`, `DIFFERS` with the first difference, or `refused` where both builds reject the setting. Exit 1 on any
difference.

Packages are those of test/fixtures and each --package. Settings are fp32 and bf16, each on one rank and on the mesh
fs=2,tp=2; --setting=OPTIONS, repeated, replaces them by others: --setting="--precision=fp16 --micro-batches=2".
Artifacts are, per setting:

  plan mlir llvm estimate       of --target=cpu: plan, IR before planning, code before it is an object, --dry-run
  losses weights checkpoint     of the program: ten steps and a validation, in all digits; tensors as hashes
  gpu.plan gpu.mlir gpu.ptx gpu.estimate      of --target=cuda; no GPU is needed
  gpu.losses gpu.weights gpu.checkpoint       of three steps on the emulated GPU, for small packages

Two texts are the same if they are equal up to the names of SSA values, the order of attributes, and what options say:

  --rename OLD NEW              the base says OLD (a whole word or words) where the new build says NEW; in this order
  --drop REGEX                  matches that are removed from both sides

Options also come from files, one word per line: `... @renames.txt`. To see more of a difference, record both builds and
compare their files with zdiff.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import gzip
import hashlib
import json
import math
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path

from ir_text import Normalizer, first_difference

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "test" / "fixtures"
SETTINGS = [f"--precision={precision}{mesh}" for mesh in ("", " --mesh=fs=2,tp=2") for precision in ("fp32", "bf16")]
TARGETS = {"": ["--arch=x86-64-v3"], "gpu.": ["--target=cuda", "--arch=sm_90"]}
EMITTED = {"": ["plan", "mlir", "llvm"], "gpu.": ["plan", "mlir", "ptx"]}
TRAINED = ["losses", "weights", "checkpoint"]
ARTIFACTS = [target + what for target in TARGETS for what in (*EMITTED[target], "estimate", *TRAINED)]
STEPS = {"": 10, "gpu.": 3}
LARGEST_EMULATED = 1_000_000  # parameters
TIMES = {"time", "ms", "tokens_per_s", "tflops", "mfu"}  # in a log
SECONDS = 3600  # after which a process hangs
REFUSED, CRASHED = "refused: ", "crashed: "
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


@dataclasses.dataclass(frozen=True)
class Case:
    package: Path
    options: str

    @property
    def name(self) -> str:
        return f"{self.package.stem} {self.options.replace('--', '')}".strip()

    @property
    def folder(self) -> str:
        return re.sub(r"[^\w=,.]+", "_", self.name)

    @property
    def ranks(self) -> int:
        mesh = re.search(r"--mesh=(\S+)", self.options)
        return math.prod(int(size) for size in re.findall(r"=(\d+)", mesh[1])) if mesh else 1

    @functools.cached_property
    def arguments(self) -> list[dict]:
        return json.loads((self.package / "manifest.json").read_text())["arguments"]

    def is_large(self) -> bool:
        return sum(math.prod(entry["shape"]) for entry in self.arguments if entry["kind"] == "param") > LARGEST_EMULATED

    def write_tokens(self, path: Path) -> None:
        """4000 ids that every vocabulary of the package has."""
        limit = min((entry["vocab"] for entry in self.arguments if "vocab" in entry), default=1)
        draw = random.Random(3)
        path.write_bytes(array("H", (draw.randrange(limit) for _ in range(4000))).tobytes())


class Ended(Exception):
    """What a process said that ended with an error: a refusal or a crash."""


def run(command: list) -> str:
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | MPI, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Ended(f"{CRASHED}{shlex.join(words)}: over {SECONDS} s") from None
    if done.returncode == 0:
        return done.stdout
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    if done.returncode < 0 or not errors:
        raise Ended(f"{CRASHED}{shlex.join(words)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    raise Ended(REFUSED + errors[0])


def tensors_text(path: Path) -> str:
    """A line per tensor of a safetensors file, as it lies there: name, type, shape, place, hash of its bytes."""
    lines = []
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        for name, entry in json.loads(file.read(length)).items():
            if name == "__metadata__":
                lines.append(f"{name} {json.dumps(entry)}")
                continue
            begin, end = entry["data_offsets"]
            file.seek(8 + length + begin)
            digest = hashlib.sha256(file.read(end - begin)).hexdigest()[:16]
            lines.append(f"{name} {entry['dtype']} {entry['shape']} [{begin}, {end}] {digest}")
    return "\n".join(lines)


def log_text(path: Path) -> str:
    """The steps and validations."""
    lines = [json.loads(line, parse_float=str) for line in path.read_text().splitlines()]
    entries = [line for line in lines if "loss" in line or "val_loss" in line]
    return "\n".join(json.dumps({key: entry[key] for key in entry if key not in TIMES}) for entry in entries)


def checkpoint_text(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    texts = (tensors_text(path) if path.suffix == ".safetensors" else path.read_text() for path in files)
    return "\n".join(f"{path.relative_to(folder)}\n{text}" for path, text in zip(files, texts))


class Build:
    """Artifacts of a build, made when they are asked for."""

    def __init__(self, folder: Path, chosen: list[str]) -> None:
        self.honec, self.chosen = folder.resolve() / "honec", chosen

    def artifacts(self, case: Case) -> dict[str, str]:
        found: dict[str, str] = {}
        for target in TARGETS:
            with tempfile.TemporaryDirectory() as work:
                self.add_target(case, target, Path(work), found)
        return {what: text.replace(f"{case.package.parent}/", "") for what, text in found.items()}

    def add_target(self, case: Case, target: str, work: Path, found: dict[str, str]) -> None:
        """Adds the chosen artifacts of a target, up to the first that is refused."""
        if not any(what.startswith("gpu.") == bool(target) for what in self.chosen):
            return
        compile_case = [self.honec, case.package, *shlex.split(case.options), *TARGETS[target]]
        emulate = ["--emulate"] if target else []
        makers: dict[str, Callable[[], dict[str, str]]] = {}
        for what in (*EMITTED[target], "estimate"):
            if what == "plan" or target + what in self.chosen:  # a plan tells what is refused
                output = ["--dry-run"] if what == "estimate" else [f"--emit={what}", "-o", "-"]
                makers[what] = lambda what=what, output=output: {what: run([*compile_case, *output])}
        if any(target + what in self.chosen for what in TRAINED) and not (target and case.is_large()):
            makers["losses"] = lambda: self.train(case, [*compile_case, *emulate], STEPS[target], work)
        for what, make in makers.items():
            try:
                found |= {target + name: text for name, text in make().items()}
            except Ended as error:
                found[target + what] = str(error).replace(f"{work}/", "")
                return

    def train(self, case: Case, compile_case: list, steps: int, work: Path) -> dict[str, str]:
        run([*compile_case, "-o", work / "train"])
        case.write_tokens(work / "tokens.bin")
        launch = ["mpirun", "-np", case.ranks] if case.ranks > 1 else []
        start = [] if (case.package / "model.safetensors").exists() else ["--fresh"]
        run([*launch, work / "train", "--data", work / "tokens.bin", "--val-data", work / "tokens.bin",
             "--val-batches", 2, "--steps", steps, "--lr", 1e-3, "--seed", 5, *start,
             "--threads", 1 if case.ranks > 1 else 2, "--quiet", "--log", work / "log.jsonl",
             "--save", work / "weights.safetensors", "--checkpoint-dir", work / "checkpoint"])
        return {"losses": log_text(work / "log.jsonl"), "weights": tensors_text(work / "weights.safetensors"),
                "checkpoint": checkpoint_text(work / "checkpoint")}


class Recording:
    """DIR/cases.json lists cases and artifacts; DIR/CASE/ARTIFACT.gz are the texts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def contents(self) -> tuple[list[Case], list[str]]:
        index = json.loads((self.folder / "cases.json").read_text())
        return [Case(ROOT / package, options) for package, options in index["cases"]], index["artifacts"]

    def artifacts(self, case: Case) -> dict[str, str]:
        folder = self.folder / case.folder
        return {path.stem: gzip.decompress(path.read_bytes()).decode() for path in folder.iterdir()}

    def record(self, cases: list[Case], chosen: list[str], found: Iterable[dict[str, str]]) -> None:
        """Packages of this tree are those of any tree whose tool reads the recording."""
        for case, artifacts in zip(cases, found):
            (self.folder / case.folder).mkdir(parents=True)
            for what, text in artifacts.items():
                if text.startswith(CRASHED):
                    raise SystemExit(f"error: {case.name}: {text}")
                (self.folder / case.folder / f"{what}.gz").write_bytes(gzip.compress(text.encode(), 1, mtime=0))
        places = [(str(case.package).removeprefix(f"{ROOT}/"), case.options) for case in cases]
        (self.folder / "cases.json").write_text(json.dumps({"artifacts": chosen, "cases": places}, indent=1))


class Comparison:
    def __init__(self, normalizer: Normalizer, chosen: list[str]) -> None:
        self.normalizer, self.chosen = normalizer, chosen
        self.counts: collections.Counter[str] = collections.Counter()

    def add(self, case: Case, base: dict[str, str], new: dict[str, str]) -> None:
        for what in ARTIFACTS:
            if what in base | new and (what in self.chosen or what.endswith("plan")):
                verdict, difference = self.judge(what, base.get(what), new.get(what))
                self.counts[verdict] += 1
                print(f"{verdict:8s} {case.name} {what}{difference and ': '}{difference}", flush=True)

    def judge(self, what: str, base: str | None, new: str | None) -> tuple[str, str]:
        if base is None or new is None:
            return "DIFFERS", f"only {'the base' if new is None else 'the new build'} has it"
        difference = first_difference(self.normalizer.lines(what, base, True), self.normalizer.lines(what, new, False))
        if base.startswith(REFUSED) and new.startswith(REFUSED):
            return "refused", difference and f"in other words: {new[len(REFUSED):]}"
        return ("DIFFERS", difference) if difference or new.startswith(CRASHED) else ("same", "")


def source(path: Path, chosen: list[str]) -> Build | Recording:
    if (path / "cases.json").exists():
        return Recording(path)
    if (path / "honec").exists():
        return Build(path, chosen)
    raise SystemExit(f"error: {path}: expected a folder with honec or a recording")


def choose(args: argparse.Namespace) -> tuple[list[Case], list[str]]:
    """The cases and the artifacts to record or compare: those of a recording, if there is one."""
    packages = [*sorted(FIXTURES.glob("*.hone")), *(path.resolve() for path in args.package)]
    cases, artifacts = [Case(path, options) for path in packages for options in args.setting or SETTINGS], ARTIFACTS
    for path in (args.base, args.new):
        if path and (path / "cases.json").exists():
            cases, artifacts = Recording(path).contents()
    cases = [case for case in cases if re.search(args.only, case.name)
             and (not args.quick or case.package.parent == FIXTURES)]
    artifacts = [what for what in artifacts if what in (args.artifacts or artifacts)]
    if not cases or not artifacts:
        raise SystemExit("error: nothing is left to compare, expected packages and artifacts that the options choose")
    return cases, artifacts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     fromfile_prefix_chars="@")
    parser.add_argument("base", type=Path)
    parser.add_argument("new", type=Path, nargs="?")
    parser.add_argument("--record", type=Path, metavar="DIR", help="record the base in this new folder")
    parser.add_argument("--package", type=Path, action="append", default=[], help="another package")
    parser.add_argument("--setting", action="append", metavar="OPTIONS", help="of honec, instead of the four settings")
    parser.add_argument("--artifacts", type=lambda text: text.split(","), metavar="NAME,...", help="only these")
    parser.add_argument("--only", default="", metavar="REGEX", help="only cases of such names, as 'gpt2_tiny .*bf16'")
    parser.add_argument("--quick", action="store_true", help="only the packages of test/fixtures")
    parser.add_argument("--rename", nargs=2, action="append", default=[], metavar=("OLD", "NEW"))
    parser.add_argument("--drop", action="append", default=[], metavar="REGEX")
    parser.add_argument("--jobs", type=int, default=1, help="how many cases run at a time")
    args = parser.parse_args()
    if (args.new is None) == (args.record is None):
        parser.error("expected NEW or --record DIR")
    cases, chosen = choose(args)
    base = source(args.base, chosen)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        if args.record:
            Recording(args.record).record(cases, chosen, pool.map(base.artifacts, cases))
            print(f"recorded {len(cases)} cases in {args.record}")
            return 0
        new = source(args.new, chosen)
        comparison = Comparison(Normalizer(args.rename, args.drop), chosen)
        for case, (old, now) in zip(cases, pool.map(lambda case: (base.artifacts(case), new.artifacts(case)), cases)):
            comparison.add(case, old, now)
    counts = comparison.counts
    print(f"{counts['same']} same, {counts['refused']} refused by both, {counts['DIFFERS']} differ")
    return 1 if counts["DIFFERS"] or not counts["same"] else 0


if __name__ == "__main__":
    sys.exit(main())
