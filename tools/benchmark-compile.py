#!/usr/bin/env python3
"""Measures how long honec takes: for the models of test/e2e, and per op for graphs of 1,000 to 100,000 ops.

  tools/benchmark-compile.py [--models NAME,...|all|none] [--kinds KIND,...|none] [--sizes 1000,3000,...]
      [--honec PATH] [--before PATH] [--timeout SECONDS] [--before-timeout SECONDS] [--bound SECONDS]
      [-o docs/benchmarks/compile-time.md]

Times are of the processor (user and system), which other work on the machine changes little. --before is another honec,
of an older commit, to compare. What takes longer than --timeout (of the processor; --before-timeout for the older one)
is stopped, and the table says so; larger graphs of the same kind are then not tried. Exit 1 if a compilation fails, or
a model takes longer than --bound. Models need PyTorch and transformers.
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import warnings

import graphs_of_size

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failed(Exception):
    """Why a compilation ended without a program."""


def compile_seconds(honec: str, package: pathlib.Path, limit: int) -> float | None:
    """Seconds of the processor; None: more than `limit`."""
    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))

    with tempfile.TemporaryDirectory() as folder:
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([honec, str(package), "-o", f"{folder}/train"], capture_output=True, text=True,
                              preexec_fn=bound)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = end.ru_utime - start.ru_utime + end.ru_stime - start.ru_stime
    if done.returncode < 0 and seconds >= limit - 1:
        return None
    if done.returncode != 0:
        raise Failed(f"exit code {done.returncode}: {done.stderr.strip()[:100]}")
    return seconds


class Compiler:
    def __init__(self, path: str, limit: int) -> None:
        self.path, self.limit = path, limit
        self.over: set[str] = set()  # kinds of graphs of which one took longer than the limit

    def seconds(self, package: pathlib.Path, kind: str) -> float | None:
        if kind in self.over:
            return None
        seconds = compile_seconds(self.path, package, self.limit)
        if seconds is None and kind:
            self.over.add(kind)
        return seconds


class Benchmark:
    def __init__(self, args: argparse.Namespace) -> None:
        self.after = Compiler(args.honec, args.timeout)
        self.compilers = [Compiler(args.before, args.before_timeout)] if args.before else []
        self.compilers.append(self.after)
        self.bound, self.failed = args.bound, 0

    def cells(self, name: str, package: pathlib.Path, kind: str = "", ops: int = 0) -> list[str]:
        """A cell per compiler; with `ops`, two: seconds, and microseconds per op. Of failures, only the last compiler's
        count."""
        cells = []
        for compiler in self.compilers:
            is_last = compiler is self.after
            try:
                seconds = compiler.seconds(package, kind)
                cell = f"{seconds:.1f}" if seconds is not None else f"over {compiler.limit}"
                self.failed += is_last and not ops and (seconds is None or seconds > self.bound)
            except Failed as error:
                seconds, cell = None, f"fails: {error}" if is_last else "fails"
                self.failed += is_last
            cells += [cell, f"{seconds / ops * 1e6:.0f}" if seconds is not None else ""] if ops else [cell]
        print(f"{name:28s}{'  '.join(cells)}", flush=True)
        return cells

    def header(self, words: list[str], per_op: bool) -> list[str]:
        columns = ["before, s", "after, s"][-len(self.compilers):] if len(self.compilers) > 1 else ["s"]
        if per_op:
            columns = [column for one in columns for column in (one, "us per op")]
        return [f"| {' | '.join(words + columns)} |", f"|{'---|' * len(words)}{'---:|' * len(columns)}"]


def models_table(benchmark: Benchmark, models: str, work: pathlib.Path) -> list[str]:
    sys.path[:0] = [str(ROOT / "test" / "e2e"), str(ROOT / "python_frontend")]
    import hone
    import torch
    from model_table import MODELS

    warnings.simplefilter("ignore")
    lines = benchmark.header(["model"], per_op=False)
    for name in MODELS if models == "all" else models.split(","):
        torch.manual_seed(11)
        case = MODELS[name].make()
        case.model.train()
        package = work / f"{name}.hone"
        hone.export(case.model, case.loss, case.batch, case.optimizer, str(package), clip=case.clip)
        lines.append(f"| {name} | {' | '.join(benchmark.cells(name, package))} |")
    return lines


def sizes_table(benchmark: Benchmark, kinds: list[str], sizes: list[int], work: pathlib.Path) -> list[str]:
    lines = benchmark.header(["graph", "ops"], per_op=True)
    for kind in kinds:
        for size in sizes:
            package = work / f"{kind}-{size}.hone"
            ops = graphs_of_size.write_package(package, kind, size)
            lines.append(f"| {kind} | {ops:,} | {' | '.join(benchmark.cells(f'{kind} {size}', package, kind, ops))} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="all")
    parser.add_argument("--kinds", default=",".join(graphs_of_size.KINDS))
    parser.add_argument("--sizes", default="1000,3000,10000,30000,100000")
    parser.add_argument("--honec", default=str(ROOT / "build" / "bin" / "honec"))
    parser.add_argument("--before")
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--before-timeout", type=int, default=60)
    parser.add_argument("--bound", type=float, default=10)
    parser.add_argument("-o", dest="page")
    args = parser.parse_args()
    benchmark = Benchmark(args)
    words = (pathlib.Path(word).name if word.startswith("/") else word for word in sys.argv[1:])
    command = " ".join(["tools/benchmark-compile.py", *words])
    lines = ["# How long honec takes", "",
             f"Written by `{command}` on {datetime.date.today()}: {platform.processor() or platform.machine()}, "
             f"{os.cpu_count()} cores. Seconds of the processor, for the whole of honec, optimized code and link "
             "included.", ""]
    with tempfile.TemporaryDirectory() as folder:
        if args.models != "none":
            lines += ["## Models of test/e2e", "", *models_table(benchmark, args.models, pathlib.Path(folder)), ""]
        if args.kinds != "none":
            sizes = [int(size) for size in args.sizes.split(",")]
            lines += ["## Graphs of a size", "", "The kinds are described in `tools/graphs_of_size.py`.", "",
                      *sizes_table(benchmark, args.kinds.split(","), sizes, pathlib.Path(folder)), ""]
    if args.page:
        pathlib.Path(args.page).write_text("\n".join(lines))
    return 1 if benchmark.failed else 0


if __name__ == "__main__":
    sys.exit(main())
