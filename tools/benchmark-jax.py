#!/usr/bin/env python3
"""Measures training steps of GPT-2 124M written in JAX on this CPU: Hone's binary beside jax.jit.

  .venv/bin/python tools/benchmark-jax.py [--rounds 7] [--shapes 4x64,4x256] [--precisions fp32,bf16]
      [-o docs/benchmarks/jax.md]

The model is that of jax_peer.py, trained with optax (AdamW without decay of vectors, clipping at 1). hone.jax exports
the same loss, parameters and optimizer. First both make ten steps from the same weights on the same tokens, whose
losses must agree; then they take turns: a round times a few steps of each, and a ratio compares two medians of one
round, so that what else the machine does weighs on both. Both use as many threads as there are cores. jax.jit is given
donated state. Read the ratios, not the milliseconds, on a machine that is shared.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import paired_runs
import peers
from gpu_cases import Case

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"

STEPS = 2  # timed steps of one system in a round, after one that is not
COMPARED = 10  # steps whose losses must agree
# Both sum in orders of their own; in bf16, XLA may keep results of ops that it fuses in fp32.
TOLERANCES = {"fp32": 1e-5, "bf16": 2e-3}
SETTINGS = {"gelu": "tanh"}


def case_of(batch: str, sequence: str, precision: str) -> Case:
    return Case("gpt2", SETTINGS, int(batch), int(sequence), precision, "rate")


def words_of(case: Case) -> list[str]:
    return [str(case.batch), str(case.sequence), case.precision]


def stem(case: Case) -> str:
    return f"gpt2_{case.batch}x{case.sequence}_{case.precision}"


def token_batches(case: Case):
    """[COMPARED, batch, sequence] tokens and targets, of 32 bits."""
    import numpy as np

    draw = np.random.default_rng(0).integers
    return tuple(draw(0, case.vocab, (COMPARED, case.batch, case.sequence)).astype(np.int32) for _ in range(2))


def made(case: Case):
    """The loss, the parameters and the optimizer."""
    import jax
    import optax

    import jax_peer

    def loss(params, tokens, targets):
        return jax_peer._loss(params, tokens, targets, case)

    params = jax_peer.init(case)
    adamw = optax.adamw(6e-4, b1=0.9, b2=0.95, weight_decay=0.1, mask=jax.tree.map(lambda p: p.ndim > 1, params))
    return loss, params, optax.chain(optax.clip_by_global_norm(1.0), adamw)


# ---- JAX -------------------------------------------------------------------------------------------------------------


def worker(case: Case) -> None:
    import functools

    import jax
    import optax

    loss_fn, params, optimizer = made(case)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, tokens, targets):
        loss, gradients = jax.value_and_grad(loss_fn)(params, tokens, targets)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    state, losses = optimizer.init(params), []
    for batch in zip(*token_batches(case)):
        params, state, loss = step(params, state, *batch)
        losses.append(float(loss))
    print(json.dumps(losses), flush=True)

    def timed() -> None:
        nonlocal params, state
        params, state, loss = step(params, state, *batch)
        jax.block_until_ready((params, loss))

    paired_runs.answer_rounds(timed, STEPS)


# ---- Hone ------------------------------------------------------------------------------------------------------------


def export(case: Case, package: str) -> None:
    import numpy as np

    sys.path.insert(0, str(ROOT / "python_frontend"))
    import hone.jax

    loss, params, optimizer = made(case)
    batches = token_batches(case)
    hone.jax.export(loss, params, (batches[0][0], batches[1][0]), optimizer, out=package,
                    roles={"tokens": "", "targets": ""})
    for name, values in zip(("tokens", "targets"), batches):
        np.save(pathlib.Path(package).parent / f"{name}.npy", values)


def program_of(work: pathlib.Path, case: Case) -> paired_runs.Program:
    folder = work / stem(case)
    folder.mkdir()
    package, binary = folder / "gpt2.hone", folder / "train"
    # In a process of its own: the peak memory of what this one starts is at least its own.
    subprocess.run([sys.executable, __file__, "--export", *words_of(case), package], check=True)
    subprocess.run([BIN / "honec", package, "-o", binary], check=True)
    inputs = [word for name in ("tokens", "targets") for word in ("--input", f"{name}={folder / name}.npy")]
    return paired_runs.Program(binary, inputs, STEPS)


# ---- Table -----------------------------------------------------------------------------------------------------------


def row(work: pathlib.Path, case: Case, rounds: int) -> str:
    program = program_of(work, case)
    losses = [line["loss"] for line in program.run(COMPARED)]
    jitted = paired_runs.Worker("JAX", [sys.executable, __file__, "--worker", *words_of(case)])
    difference = max(abs(a - b) / abs(b) for a, b in zip(losses, jitted.start, strict=True))
    print(f"{stem(case)}: losses {losses} and {jitted.start}", flush=True)
    if difference > TOLERANCES[case.precision]:
        sys.exit(f"error: {stem(case)}: losses differ by {difference:.1e}, expected {TOLERANCES[case.precision]:.0e}")
    results = paired_runs.run_rounds(stem(case), [program, jitted], rounds)
    ours, theirs = (statistics.median(column) for column in zip(*results))
    return (f"| {case.batch} x {case.sequence} | {case.precision} | {difference:.1e} | {ours:.0f} | {theirs:.0f} | "
            f"{peers.quartiles([b / a for a, b in results])} | {program.peak:.0f}, {jitted.close():.0f} |")


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shapes", type=words, default=["4x64", "4x256"])
    parser.add_argument("--precisions", type=words, default=["fp32", "bf16"])
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--export", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("-o", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(case_of(*arguments.worker))
    if arguments.export:
        return export(case_of(*arguments.export[:3]), arguments.export[3])
    cases = [case_of(*shape.split("x"), precision)
             for shape, precision in itertools.product(arguments.shapes, arguments.precisions)]
    with tempfile.TemporaryDirectory() as temporary:
        rows = [row(pathlib.Path(temporary), case, arguments.rounds) for case in cases]
    intro = (
        f"Made by `tools/benchmark-jax.py --rounds {arguments.rounds}` on {datetime.date.today()}: {peers.cpu_name()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, JAX {importlib.metadata.version('jax')}, optax "
        f"{importlib.metadata.version('optax')}. GPT-2 124M written in JAX (`tools/jax_peer.py`), AdamW, clipping at "
        "1; the program is what `hone.jax.export` and `honec` make of the same loss and optimizer. Medians over "
        f"{arguments.rounds} interleaved rounds of {STEPS} steps; the ratio is the median of the rounds' own ratios, "
        "with quartiles; above 1, Hone is faster. Losses: the largest relative difference over "
        f"{COMPARED} steps from the same weights. bf16: operands of products, with fp32 weights.")
    text = "\n".join([
        "# CPU: the training step of a model in JAX beside jax.jit", "",
        peers.paragraph(intro), "",
        "| batch x tokens | precision | losses | Hone, ms | jax.jit, ms | jax.jit / Hone | peak MiB: Hone, jax.jit |",
        "|---|---|---|---|---|---|---|", *rows, ""])
    if arguments.o:
        arguments.o.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
