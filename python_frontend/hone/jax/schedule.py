"""An optax schedule: its highest rate, which the package holds, and the flags of ./train that make the schedule."""

from __future__ import annotations

from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import HoneError

_STEPS = 200_000  # of a schedule that are looked at
_TOLERANCE = 1e-5  # of the highest rate: schedules are computed in single precision
_WAYS = "--warmup, --schedule cosine and --min-lr of ./train"


def base_and_flags(schedule: Callable) -> tuple[float, str | None]:
    """The factor of largest size, with its sign, and a line that says what makes the rest; None for a constant one.

    Raises HoneError where the flags cannot: they make a linear warm-up from 0, then a constant rate or half a cosine.
    """
    factors = np.asarray(jax.vmap(schedule)(jnp.arange(_STEPS)), np.float64)
    if not np.isfinite(factors).all() or not factors.any():
        raise HoneError(f"optimizer: its schedule has no rate that is not 0; expected {_WAYS}")
    top = float(factors[np.abs(factors).argmax()])
    shape = factors / top
    first = int((shape >= 1 - _TOLERANCE).argmax())
    flags = []
    if first:
        if not _near(shape[:first], np.arange(first) / first):
            raise HoneError(_refusal(top))
        flags.append(f"--warmup {first}")
    rest = shape[first:]
    if not _near(rest, 1):
        flags += _cosine(rest, first, top)
    if not flags:
        return top, None
    return top, (
        f"optimizer: its schedule is left out of the package: lr is {abs(top):g}; ./train {' '.join(flags)} makes it, "
        "one step ahead"
    )


def _near(shape: np.ndarray, wanted: np.ndarray | float) -> bool:
    return bool(np.abs(shape - wanted).max(initial=0) <= 10 * _TOLERANCE)


def _cosine(rest: np.ndarray, first: int, top: float) -> list[str]:
    low = float(rest[-1])
    count = int((np.abs(rest - low) <= _TOLERANCE * 1e-3).argmax())
    for length in range(max(count, 1), count + 2 + count // 50):  # the end of a cosine is flat in single precision
        steps = np.minimum(np.arange(len(rest)) / length, 1)
        if _near(rest, low + (1 - low) * 0.5 * (1 + np.cos(np.pi * steps))):
            return [f"--schedule cosine --min-lr {low * abs(top):g} --steps {first + length}"]
    raise HoneError(_refusal(top))


def _refusal(top: float) -> str:
    return (
        f"optimizer: its schedule is none that the program makes; expected a constant rate such as {abs(top):g}, and "
        f"{_WAYS}"
    )
