"""hone.compile: from a model to a training step in this process."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import time
from typing import Any, Callable, Mapping, Sequence

import torch

from ..api import export
from ..errors import HoneError
from ..frozen import FrozenLike
from ..optimizer import OptimizerLike
from .cache import PACKAGE, PROGRAM, compiled, folder_of_cache
from .library import Options
from .step import Step

_ONE_PROCESS = (
    "a step is one process; honec --mesh without --emit=so makes a program that mpirun starts (docs/distributed.md)"
)

# Options of honec that hone.compile gives itself, or that say what is no program for a process of the user's.
_REFUSED = {
    "emit": "a step is made of a shared object",
    "o": "programs are kept in the cache, expected cache=FOLDER",
    "output": "programs are kept in the cache, expected cache=FOLDER",
    "report": "a report is always written: step.report()",
    "dry_run": "makes no program; honec --dry-run estimates",
    "mesh": _ONE_PROCESS,
    "recipe": _ONE_PROCESS,
    "schedule": _ONE_PROCESS,
    "dump_schedule": _ONE_PROCESS,
    "cuts": _ONE_PROCESS,
    "cluster": "a step is one process, without links to describe",
}


def compile(
    model: torch.nn.Module,
    loss_fn: Callable | None,
    example_batch: Sequence[torch.Tensor],
    optimizer: OptimizerLike = None,
    *,
    clip: float | None = None,
    init: Mapping[str, dict] | None = None,
    frozen: FrozenLike = None,
    expert_bias: float | None = None,
    name: str | None = None,
    weights: str | os.PathLike | None = None,
    fresh: bool = False,
    seed: int = 0,
    threads: int = 0,
    deterministic: bool = False,
    checkpoint_dir: str | os.PathLike | None = None,
    resume: bool = False,
    cache: str | os.PathLike | None = None,
    **options: Any,
) -> Step:
    """Compiles the training step of a model, or finds it in the cache, and prints one line about that.

    model, loss_fn, example_batch, optimizer, clip, init, frozen, expert_bias, name: as of hone.export. Training starts
    from the model's present weights and a fresh optimizer; the model itself does not change (step.copy_to).

    weights: start from this safetensors file. fresh: start from values that `seed` generates, as ./train --fresh.
    seed: of generated values and dropout. threads: 0 for the cores of this process.
    deterministic: equal runs give equal bits on a GPU too.
    checkpoint_dir, resume: as --checkpoint-dir and --resume of the training binary; step.checkpoint() writes.
    cache: where programs are kept; by default $XDG_CACHE_HOME/hone/programs.
    options: those of honec, such as precision="bf16", memory_budget="2GiB", micro_batches=4, target="cuda".

    Raises HoneError, whose text is one line.
    """
    flags = _flags(options)
    if fresh and weights is not None:
        raise HoneError("fresh: given with weights, expected one of them")
    started = time.monotonic()
    cache = os.fspath(cache) if cache is not None else folder_of_cache()
    try:
        os.makedirs(cache, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="exported.") as place:
            package = os.path.join(place, PACKAGE)
            # Weights are copied from memory; a package holds what a program cannot be given so.
            keeps = frozen is not None or any(spec.get("dist") == "file" for spec in (init or {}).values())
            with _warnings_only():
                export(
                    model,
                    loss_fn,
                    example_batch,
                    optimizer,
                    out=package,
                    init=init,
                    name=name,
                    clip=clip,
                    roles={},  # all inputs come from the caller
                    weights=None if keeps else False,
                    frozen=frozen,
                    expert_bias=expert_bias,
                )
            folder, was_there = compiled(package, flags, cache)
    except OSError as error:
        path = error.filename or cache
        raise HoneError(f"{path}: {error.strerror}; programs are kept in {cache}, cache=FOLDER names another") from None
    step = Step(
        folder,
        PROGRAM,
        Options(
            init=None if weights is None else os.fsencode(weights),
            fresh=fresh,
            seed=seed,
            threads=threads,
            deterministic=deterministic,
            checkpoints=None if checkpoint_dir is None else os.fsencode(checkpoint_dir),
            resume=resume,
        ),
    )
    if not fresh and weights is None and step.steps == 0:
        step.copy_from(model)
    how = "from the cache" if was_there else f"compiled in {time.monotonic() - started:.1f} s"
    arena = step.plan.peak_bytes / 2**20
    print(f"hone: {name or type(model).__name__} {how}, arena {arena:.1f} MiB, in {folder}", file=sys.stderr)
    return step


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as honec's command line has them; honec says which it does not know."""
    flags = []
    for name, value in sorted(options.items()):
        if name in _REFUSED:
            raise HoneError(f"{name}: is {value!r}, expected none: {_REFUSED[name]}")
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)):
            flags.append(f"{flag}={','.join(map(str, value))}")
        else:
            flags.append(f"{flag}={value}")
    return flags


@contextlib.contextmanager
def _warnings_only():
    """Of what is printed about an export, what the user may not expect."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            yield
    finally:
        for line in printed.getvalue().splitlines():
            if not re.match(r"(weights|expert_bias): ", line):
                print(line, file=sys.stderr)
