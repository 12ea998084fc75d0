"""Every pass on random graphs, before against after in the interpreter.

    passes.py WORKDIR [PASS...] [--graphs N] [--first SEED]     (test/fuzz/*.test; tools/check-large.sh: 1000 graphs)
    passes.py --list                                            what is checked how, and what other tests cover
    passes.py --complete                                        fails if hone-opt has a pass that the table lacks
    passes.py WORKDIR --ops                                     fails if an op of the dialect is in no graph of a row

Each pass runs alone on graphs of the kinds it accepts, and in random sequences with others. How results may differ is
the row's: not at all where the order of sums is kept, else by no more than twice the original's own distance from the
same graph in double (rules.py). A pass must also do something on a stated share of its graphs. Prints a line per
failure with pass, graph and seed, and a summary per pass; exits 1 if there is a failure. shrink.py makes one small.
"""

from __future__ import annotations

import argparse
import functools
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

import rules
from grow import random_forward, random_function
from models import random_model
from modules import Modules, call, module, optimize

CLEAN = ("--canonicalize", "--cse")
LOW = (*CLEAN, "--hone-mixed-precision=policy=bf16", *CLEAN)
BATCH = 60  # graphs, at least, that go through the tools at once, with one choice of options
BATCHES = 20  # at most


@dataclass(frozen=True)
class Source:
    """A kind of graphs: text by seed, and the passes that make it what the pass under test accepts."""

    make: Callable[[int], str]
    prepare: tuple[str, ...] = ()
    smooth: bool = True  # results in fp32 do not jump
    attributes: str = ""  # of the module

    def module(self, name: str, seed: int) -> str:
        return module(name, self.make(seed), self.attributes)


def step_of(prepare: tuple[str, ...]) -> tuple[str, ...]:
    return ("--hone-autodiff", *CLEAN, *prepare, *CLEAN)


def forward(seed: int) -> str:
    return random_forward(seed, 1, exported=False)[1]


def exported(seed: int) -> str:
    return random_forward(seed, 1)[1]


def weighted(seed: int) -> str:
    """With a matrix that every optimizer keeps whole state of."""
    return random_forward(seed, 1, weight=(64, 67))[1]


def model(seed: int) -> str:
    return random_model(seed)[1]


def parted(seed: int) -> str:
    """With the matrices in one group of parameters, and the rest in another."""
    def group(match: re.Match) -> str:
        return f"{match[0]}, hone.param_group = {int(match[1].count('x') != 2 or '0x' in match[1])} : i64"
    return re.sub(r'tensor<([^>]*)> \{hone\.kind = "param"', group, weighted(seed))


MUON = ('hone.optimizer = {name = "muon", groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64}, '
        '{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "sgd"}]}')
GROUPS = ("--hone-decompose-rows", *CLEAN, "--hone-fuse-groups")
SOURCES = {
    "rough": Source(lambda seed: random_function(seed, smooth=False), smooth=False),
    "smooth": Source(lambda seed: random_function(seed, smooth=True)),
    "forward": Source(forward),
    "exported": Source(exported),
    "model": Source(model),
    "spelled": Source(lambda seed: random_model(seed, spelled=0.7)[1], CLEAN),
    "gradient": Source(exported, step_of(())),
    "model gradient": Source(model, step_of(())),
    "scaled gradient": Source(model, (*CLEAN, "--hone-mixed-precision=policy=fp16", *CLEAN,
                                      "--hone-autodiff=scale-loss", *CLEAN)),
    "step": Source(exported, step_of(("--hone-build-step",))),
    "model step": Source(model, step_of(("--hone-build-step",))),
    "model batches": Source(model, step_of(("--hone-build-step=micro-batches=2 optimizer=sgd momentum=0.9",))),
    "cuda step": Source(model, step_of(("--hone-set-target=target=cuda arch=sm_90", "--hone-build-step",
                                        "--hone-decompose-rows"))),
    "low": Source(model, LOW),
    "low gradient": Source(model, (*LOW, *step_of(()))),
    "low step": Source(model, (*LOW, *step_of(("--hone-build-step",)))),
    "low batches": Source(model, (*LOW, "--hone-autodiff=seed=0.5", *CLEAN, "--hone-build-step=micro-batches=2", *CLEAN)),
    "padded": Source(model, ("--hone-pad-dims=multiple=8",)),
    # Random means are partly negative, and the step may be 0: no state that training reaches, nor one to round in.
    "adafactor step": Source(forward, step_of(("--hone-build-step=optimizer=adafactor",)), smooth=False),
    "lion step": Source(weighted, step_of(("--hone-build-step=optimizer=lion",)), smooth=False),
    "muon step": Source(parted, step_of(("--hone-build-step",)), smooth=False, attributes=MUON),
    "coded step": Source(weighted, step_of(("--hone-build-step=moments=8bit",)), smooth=False),
    "groups": Source(model, step_of(("--hone-build-step", *GROUPS))),
}
for policy in ("full", "sqrt"):
    SOURCES[policy] = Source(model, step_of(("--hone-build-step=micro-batches=2", *GROUPS,
                                             f"--hone-plan-checkpoints=policy={policy}")))
STEP = step_of(("--hone-build-step=keep-gradients",))
PLAIN = ("rough", "smooth", "step", "model step", "model batches")
EXPORTED = ("exported", "model")
UPDATES = ("lion step", "muon step", "coded step")


@dataclass(frozen=True)
class Row:
    """How one pass is checked. `options` are drawn per batch; both sides go through `then` before they are compared."""

    sources: tuple[str, ...]
    rule: rules.Rule
    fires: float  # least share of graphs that the pass changes, or in which the number of `shows` changes
    options: tuple[str, ...] = ("",)
    then: tuple[str, ...] = ()
    shows: str = ""

    def fired(self, before: str, after: str | None) -> bool:
        return after is not None and (before.count(self.shows) != after.count(self.shows) if self.shows
                                      else before != after)


STEP_OPTIONS = ("", "=keep-gradients", "=micro-batches=2", "=optimizer=sgd", "=optimizer=sgd momentum=0.9 nesterov",
                "=micro-batches=3 beta1=0.5 beta2=0.75 eps=0.01", "=optimizer=lion", "=growth-interval=3",
                "=growth-interval=2 micro-batches=2")

TABLE = {
    "canonicalize": Row((*PLAIN, *UPDATES, "exported"), rules.same, 0.3),
    "cse": Row((*PLAIN, *UPDATES, "exported"), rules.same, 0.2),
    "hone-verify-import": Row((*EXPORTED, "spelled"), rules.unchanged, 0),
    "hone-raise": Row(("spelled",), rules.raised, 0.9),
    "hone-verify-raise": Row(EXPORTED, rules.unchanged, 0),
    "hone-autodiff": Row(EXPORTED, rules.gradient, 1, ("", "=seed=0.5")),
    "hone-verify-gradient": Row(("gradient", "model gradient"), rules.unchanged, 0),
    "hone-build-step": Row(("gradient", "model gradient", "scaled gradient"), rules.step, 1, STEP_OPTIONS),
    "hone-verify-step": Row(("step", "model step", "model batches", *UPDATES), rules.unchanged, 0),
    "hone-join-pads": Row(PLAIN, rules.same, 0.15, shows="hone.pad "),
    "hone-normalize-contractions": Row(PLAIN, rules.same, 0.05, shows="hone.transpose "),
    # No coded step: a gradient that is rounded otherwise may have the next code.
    "hone-decompose-rows": Row((*PLAIN, "lion step", "muon step"), rules.composed, 0.6),
    "hone-decompose-attention": Row(("model", "model gradient", "model step", "smooth"), rules.composed, 0.7,
                                    shows="hone.attention"),
    "hone-decompose-updates": Row(("adafactor step", "muon step"), rules.near, 0.95),
    "hone-pack-projections": Row(("model",), rules.near, 0.3, then=STEP, shows="hone.part<"),
    "hone-pad-dims": Row(EXPORTED, rules.near, 0.3, ("=multiple=8", "=multiple=16", "=multiple=3"),
                         then=STEP, shows="hone.part<"),
    "hone-verify-pad": Row((*EXPORTED, "padded"), rules.unchanged, 0),
    "hone-set-target": Row(("forward", "step"), rules.marked, 1,
                           ("=target=cpu arch=znver4", "=target=cuda arch=sm_90")),
    "hone-mixed-precision": Row(EXPORTED, rules.low, 0.4,
                                ("=policy=bf16", "=policy=fp16", "=policy=bf16 stream=low", "=policy=tf32"),
                                shows="bf16>"),
    "hone-verify-precision": Row(("low",), rules.unchanged, 0),
    "hone-widen-gradients": Row(("low gradient", "low step"), rules.widened, 0.5, shows="hone.cast"),
    "hone-working-copies": Row(("low step",), rules.same, 0.9, shows='"working_copy"'),
    "hone-low-state": Row(("low step",), rules.exact, 0.9, shows=" rng "),
    "hone-low-gradients": Row(("low step", "low batches"), rules.exact, 0.9),
    "hone-simplify-contractions": Row((*PLAIN, *UPDATES), rules.near, 0.05),
    "hone-sink-reshapes": Row((*PLAIN, *UPDATES), rules.same, 0.3),
    "hone-sink-transposes": Row(("rough", "smooth", "forward"), rules.near, 0.005),
    "hone-chunk-loss": Row(("model gradient", "model step", "model batches", "step"), rules.near, 0.4,
                           ("=chunk=1", "=chunk=2", "=chunk=3", "=chunk=5"), shows="hone.cross_entropy "),
    "hone-join-rotations": Row(("model step", "model batches"), rules.same, 0.1),
    "hone-recompute-maps": Row(("low step", *PLAIN), rules.same, 0.1),
    "hone-expand-weights": Row(("low step", *PLAIN), rules.same, 0.02, shows="hone.dequantize"),
    "hone-fuse-groups": Row((*PLAIN, *UPDATES, "cuda step", "low step"), rules.same, 0.95),
    "hone-verify-groups": Row(("groups",), rules.unchanged, 0),
    "hone-plan-checkpoints": Row(("groups",), rules.same, 0.95, ("=policy=full", "=policy=sqrt", "=report policy=full"),
                                 then=("--hone-apply-checkpoints", *CLEAN, "--hone-verify-groups")),
    "hone-apply-checkpoints": Row(("full", "sqrt"), rules.same, 0.3, then=("--hone-verify-groups",),
                                  shows="hone.clone ="),
}

# Passes whose result the interpreter does not run: random programs are compiled (programs.py), and each border between
# phases has its verifier, which runs there too.
COMPILED = ("hone-plan-memory", "hone-verify-plan", "hone-lower-to-kernels", "hone-verify-lower",
            "hone-approximate-math", "hone-bind-kernels", "hone-verify-llvm")
# What an attribute says to later phases alone: test/Transforms/Fuse/plan-attention.
MARKING = ("hone-plan-attention",)
# Whole training steps, that are run: test/e2e/offload.test.
OFFLOADING = ("hone-offload-state", "hone-stream-weights")
# Device code: test/Target/GPU and test/unit/Target, where the emulator runs it.
EMULATED = ("hone-approximate-device-math", "hone-lower-device-code", "hone-verify-device-code")
# Whose results several ranks run: sharded.py.
SHARDED = ("dist-annotate", "dist-propagate", "dist-partition", "dist-verify", "dist-print-collectives",
           "dist-lower-collectives", "dist-bucket-collectives", "hone-overlap-collectives", "hone-set-mesh-invariant")
# Of which no random graph has collectives that are worth it: test/Sharding/Overlap.
OVERLAPPING = ("dist-split-for-overlap",)
# Mixtures of experts, which no random graph holds: test/Sharding/Experts, test/unit/Sharding.
BLOCKS = ("dist-block-experts", "dist-lower-blocks")
# Attention in a ring: test/Sharding/context.test, test/unit/Sharding/RingTest.cpp.
RINGS = ("dist-lower-rings",)
# Whose bounds and checks end runs: ids.py.
ENDING = ("hone-bound-ids", "hone-guard-ids")
# What language models alone have: test/unit/Transforms/GenerateTest.cpp.
GENERATING = ("hone-build-generate",)
# What changes the loss on purpose: test/Transforms/Raise/separate-documents.
CHANGING = ("hone-separate-documents",)
# Which make of a model what the interpreter runs stage by stage: test/Sharding/Stages/models.test.
STAGED = ("dist-assign-stages", "dist-split-stages")
# What leads from these to one program: test/e2e/ranks-pipelines.test.
JOINING = ("hone-split-turns", "hone-overlap-turns", "hone-join-stages")
PIPELINES = ("hone-pipeline", "hone-lower-to-llvm", "hone-lower-to-nvvm")

# Of marked products, whose results are compared with PyTorch's: quantized.py. Codes of weights leave their functions in
# whole programs, and kernels compute what they make codes of; these keep their bits: test/e2e/fp8.py, emulated-fp8.test.
QUANTIZED = ("hone-quantize-products", "hone-hoist-weight-codes", "hone-fuse-into-codes")

# Ops that no random graph holds, with the reason.
_GENERATED = "of programs that continue a text: it has no gradient, and hone-build-generate alone makes it"
_QUANTIZED = "of products of codes, which hone-quantize-products alone makes: quantized.py"
UNDRAWN: dict[str, str] = {"decode_attention": _GENERATED, "update_slice": _GENERATED,
                           "amax": _QUANTIZED, "quantize": _QUANTIZED,
                           "merge_attention": "of attention in a ring: it has no gradient, and dist-lower-rings alone makes it"}
OP_SEEDS = range(40)  # graphs of each source in which the others must occur

# Function passes that commute with each other as far as meaning goes; groups come last, then only folding.
SEQUENCE = ("canonicalize", "cse", "hone-join-pads", "hone-normalize-contractions", "hone-decompose-rows")
ANY_ORDER = "any-order"


def random_sequence(seed: int) -> list[str]:
    pick = random.Random(seed)
    names = [pick.choice(SEQUENCE) for _ in range(pick.randint(2, 6))]
    if pick.random() < 0.5:
        names += ["hone-fuse-groups", *pick.choices(("canonicalize", "cse"), k=pick.randint(0, 2))]
    return [f"--{name}" for name in names]


@dataclass
class Tally:
    graphs: int = 0
    fired: int = 0
    problems: list[str] | None = None

    def __post_init__(self) -> None:
        self.problems = []


@functools.lru_cache(maxsize=None)
def prepare(work: Path, name: str, seeds: tuple[int, ...]) -> tuple[Modules, tuple[str, ...]]:
    """Prepared graphs of one source, with complaints about the preparation: once for all passes that share a source."""
    source, label = SOURCES[name], name.replace(" ", "")
    raw = {f"{label}{seed}": source.module(f"{label}{seed}", seed) for seed in seeds}
    done = optimize(work, raw, source.prepare)
    return done.modules, tuple(f"{graph} is not accepted: {done.errors}" for graph in raw if graph not in done.modules)


def make_batch(work: Path, row: Row, seeds: range) -> Iterator[tuple[Source, Modules, list[str]]]:
    """Prepared graphs of the seeds, by source, with complaints about the preparation."""
    for number, name in enumerate(row.sources):
        mine = tuple(seed for seed in seeds if seed % len(row.sources) == number)
        if mine:
            modules, complaints = prepare(work, name, mine)
            yield SOURCES[name], modules, list(complaints)


def check(work: Path, name: str, row: Row, seeds: range) -> Tally:
    """One pass on the graphs of some seeds."""
    tally = Tally()
    size = max(BATCH, -(-len(seeds) // BATCHES))
    for first in range(seeds.start, seeds.stop, size):
        batch = range(first, min(first + size, seeds.stop))
        for number, (source, before, complaints) in enumerate(make_batch(work.parent, row, batch)):
            option = row.options[(first // size + number) % len(row.options)]
            flags = random_sequence(first + number) if name == ANY_ORDER else [f"--{name}{option}"]
            after = optimize(work, before, flags)
            tally.graphs += len(before) + len(complaints)
            tally.fired += sum(row.fired(text, after.modules.get(graph)) for graph, text in before.items())
            lost = [f"{graph}: {after.errors}" for graph in before if graph not in after.modules]
            kept = {graph: text for graph, text in before.items() if graph in after.modules}
            done = after.modules
            if row.then and kept:
                kept, done = (optimize(work, side, row.then).modules for side in (kept, done))
                complaints += [f"{graph} is not accepted by {' '.join(row.then)}"
                               for graph in kept.keys() - done.keys()]
                kept = {graph: text for graph, text in kept.items() if graph in done}
            wrong = row.rule(rules.Case(work, kept, done, source.smooth, " ".join(flags))) if kept else []
            tally.problems += [f"{' '.join(flags)}: {line}" for line in [*complaints, *lost, *wrong]]
    if seeds and tally.fired < row.fires * tally.graphs:
        tally.problems.append(f"{name} changed {tally.fired} of {tally.graphs} graphs, expected {row.fires:.0%}")
    return tally


def registered() -> set[str]:
    """Passes and pipelines of hone-opt that are Hone's own."""
    return set(re.findall(r"^ +--((?:hone|dist)-[\w-]+)", call("hone-opt", "--help").stdout, re.MULTILINE))


def complete() -> int:
    known = {*TABLE, *COMPILED, *MARKING, *OFFLOADING, *EMULATED, *SHARDED, *OVERLAPPING, *ENDING, *GENERATING,
             *CHANGING, *STAGED, *JOINING, *BLOCKS, *RINGS, *QUANTIZED, *PIPELINES}
    tests = " ".join(path.read_text() for path in Path(__file__).parent.glob("*.test"))
    problems = [f"{name}: no row in test/fuzz/passes.py says how it is checked"
                for name in sorted(registered() - known)]
    problems += [f"{name}: test/fuzz/passes.py has a row, hone-opt no such pass"
                 for name in sorted(known - registered() - {"canonicalize", "cse"})]
    problems += [f"{name}: no test/fuzz/*.test runs it" for name in TABLE if not re.search(rf" {name}\b(?!-)", tests)]
    print("\n".join([*problems, f"{len(registered())} passes and pipelines, {len(problems)} problems"]))
    return 1 if problems else 0


def defined_ops() -> set[str]:
    """Names of the ops in include/hone/IR/*Ops.td: the first string after `def Hone_...Op`."""
    folder = Path(__file__).resolve().parents[2] / "include" / "hone" / "IR"
    texts = "\n".join(path.read_text() for path in sorted(folder.glob("*Ops.td")))
    return set(re.findall(r'^def Hone_\w+Op\b[^"{]*"(\w+)"', texts, re.MULTILINE))


def complete_ops(work: Path) -> int:
    work.mkdir(parents=True, exist_ok=True)
    ops, seen = defined_ops(), set()
    for name in dict.fromkeys(source for row in TABLE.values() for source in row.sources):
        for text in prepare(work, name, tuple(OP_SEEDS))[0].values():
            seen.update(re.findall(r"\bhone\.(\w+)", text))
    problems = [f"hone.{op}: no random graph holds it; add a move (grow.py), or the reason to UNDRAWN"
                for op in sorted(ops - seen - set(UNDRAWN))]
    problems += [f"hone.{op}: UNDRAWN says that no random graph holds it, but one does"
                 for op in sorted(seen & set(UNDRAWN))]
    problems += [f"hone.{op}: is in UNDRAWN, the dialect has no such op" for op in sorted(set(UNDRAWN) - ops)]
    problems += [f"{name}: no row has graphs of this source"
                 for name in sorted(set(SOURCES) - {source for row in TABLE.values() for source in row.sources})]
    print("\n".join([*problems, f"{len(ops)} ops, {len(ops & seen)} in random graphs, {len(problems)} problems"]))
    return 1 if problems or len(ops) < 60 else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("passes", nargs="*")
    parser.add_argument("--graphs", type=int, default=180)
    parser.add_argument("--first", type=int, default=0, help="seed of the first graph")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--ops", action="store_true")
    options = parser.parse_args()
    if options.complete:
        return complete()
    if options.ops:
        return complete_ops(options.work)
    table = TABLE | {ANY_ORDER: Row(PLAIN, rules.composed, 0.5)}
    if options.list or not options.work:
        for name, row in table.items():
            print(f"{name}: {row.rule.__name__} on {', '.join(row.sources)}")
        print(f"compiled (programs.py): {', '.join(COMPILED)}")
        print(f"marking (test/Transforms): {', '.join(MARKING)}")
        print(f"offloading (test/e2e): {', '.join(OFFLOADING)}")
        print(f"emulated (test/unit/Target): {', '.join(EMULATED)}")
        return 0
    failures = 0
    for name in options.passes or table:
        work = options.work / name
        work.mkdir(parents=True, exist_ok=True)
        tally = check(work, name, table[name], range(options.first, options.first + options.graphs))
        failures += len(tally.problems)
        for problem in tally.problems:
            print(problem)
        print(f"{name}: {tally.graphs} graphs, changed {tally.fired}, {len(tally.problems)} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
