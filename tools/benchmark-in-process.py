#!/usr/bin/env python3
"""Measures what a step called from Python (hone.compile) takes beside a step of the training binary.

  tools/benchmark-in-process.py [--steps 300] [--rounds 15] [--bin build/bin]

The model is a GPT-2 of 24,000 parameters on one thread, so that a step takes less than a millisecond and its caller is
seen. Both programs are of one package and start from one seed; in turn each makes its steps, and a round's figure is
the median of its steps. Prints, in microseconds, the median over rounds of the binary's own time for a step (`ms` of
its log), of the time of step(x, y) around the call, and of their difference; then what a call takes apart from the
step: for PyTorch and NumPy, step(x, y) with inputs that the runtime refuses by their shape, which reads both tensors
and runs nothing.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import paired_runs

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend" / "examples")]


def microseconds(call, count: int) -> float:
    """The median of `count` calls."""
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300, help="of a round (default 300)")
    parser.add_argument("--rounds", type=int, default=15, help="of each program (default 15)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="where honec is")
    options = parser.parse_args()
    os.environ["PATH"] = f"{options.bin.resolve()}{os.pathsep}{os.environ['PATH']}"
    try:
        import gpt2
        import hone
        import numpy
    except ImportError as error:
        sys.exit(f"error: {error}; tools/setup.sh installs it")

    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        t = gpt2.tiny()
        more = {"clip": t.clip, "cache": work, "threads": 1, "fresh": True}
        step = hone.compile(t.model, t.loss_fn, t.example_batch, t.optimizer, **more)
        train = work / "train"
        subprocess.run(["honec", pathlib.Path(step.folder) / "model.hone", "-o", train], check=True)
        ids = numpy.arange(32).reshape(2, 16)
        numpy.save(work / "ids.npy", ids)
        inputs = [f"--input={name}={work / 'ids.npy'}" for name in step.inputs]
        binary = paired_runs.Program(train, ["--threads=1", *inputs], options.steps)

        rounds = []
        for _ in range(options.rounds):
            own = 1e3 * binary.round()
            rounds.append((own, microseconds(lambda: step(ids, ids), options.steps)))
        own, call = (statistics.median(times) for times in zip(*rounds))
        difference = statistics.median(call - own for own, call in rounds)
        print(f"./train's own time of a step {own:.1f} us, step(x, y) {call:.1f} us, difference {difference:.1f} us")

        def refused(x) -> None:
            try:
                step(x, x)
            except hone.HoneError:
                pass

        for name, x in (("PyTorch", t.example_batch[0][:1]), ("NumPy", ids[:1])):
            print(f"a call apart from the step, {name}: {microseconds(lambda: refused(x), 2000):.1f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
