"""How a fresh run fills a parameter, as the user says or as fits its values. Needs NumPy alone.

A fit takes the shape from the sample's kurtosis, and as numbers the shortest decimals within 3 standard errors, so that
weights drawn with std=0.02 give 0.02. Rows set apart, such as an embedding's zeroed padding row, are not seen.
"""

from __future__ import annotations

import fnmatch
import math
from dataclasses import dataclass

import numpy as np

from .errors import HoneError

_DISTRIBUTIONS = {"constant": ("value",), "normal": ("mean", "std"), "uniform": ("low", "high"), "file": ()}

# Excess-free fourth moment: 1.8 for a uniform law, 3 for a normal one; the middle decides.
_KURTOSIS_BORDER = 2.4
_SAMPLE_FOR_SHAPE = 32  # fewer values say nothing about the shape: normal is assumed


def given_spec(patterns: dict[str, dict], name: str) -> dict | None:
    """The first of the user's specs whose pattern matches the name, checked."""
    for pattern, spec in patterns.items():
        if fnmatch.fnmatchcase(name, pattern):
            return checked_spec(spec, f"init '{pattern}'")
    return None


def checked_spec(spec: dict, where: str) -> dict:
    dist = spec.get("dist") if isinstance(spec, dict) else None
    if dist not in _DISTRIBUTIONS:
        raise HoneError(f"{where}: dist is {dist!r}, expected one of {', '.join(_DISTRIBUTIONS)}")
    fields = _DISTRIBUTIONS[dist]
    if set(spec) != {"dist", *fields}:
        raise HoneError(
            f"{where}: has {', '.join(sorted(set(spec) - {'dist'})) or 'nothing'}, "
            f"expected {', '.join(fields) or 'nothing'} for dist '{dist}'"
        )
    return {"dist": dist} | {field: float(spec[field]) for field in fields}


@dataclass(frozen=True)
class Sample:
    """Statistics of a tensor's n values."""

    n: int
    mean: float
    std: float
    low: float
    high: float
    kurtosis: float

    @staticmethod
    def of(array: np.ndarray) -> "Sample":
        values = array.astype(np.float64).ravel()
        mean, std = float(values.mean()), float(values.std())
        fourth = float(np.square(np.square(values - mean)).mean()) / std**4 if std else 0.0
        return Sample(values.size, mean, std, float(values.min()), float(values.max()), fourth)

    @property
    def mean_error(self) -> float:
        return self.std / math.sqrt(self.n)

    @property
    def std_error(self) -> float:
        """Standard error of the standard deviation, from the sample's own fourth moment."""
        return self.std * math.sqrt(max(self.kurtosis - 1, 0.1) / (4 * self.n))


def spec_of_values(values: np.ndarray, name: str, law: dict | None = None) -> dict:
    """A spec that draws values like those of the parameter `name`: `law`, if the values agree with it, or a fit."""
    if values.size == 0:
        return {"dist": "constant", "value": 0.0}
    wide = values.astype(np.float64)
    if not np.isfinite(wide).all():
        raise HoneError(f"init: parameter '{name}' holds values that are not finite: mend them, or give init= for it")
    first = wide.flat[0]
    if (wide == first).all():
        return {"dist": "constant", "value": float(first)}
    sample = Sample.of(wide)
    return law if law is not None and _agrees(sample, law) else _fitted(sample)


def _agrees(sample: Sample, law: dict) -> bool:
    if law["dist"] == "uniform":
        slack = 1e-6 * law["high"]
        inside = law["low"] - slack <= sample.low and sample.high <= law["high"] + slack
        mean, std = (law["low"] + law["high"]) / 2, (law["high"] - law["low"]) / math.sqrt(12)
    else:
        inside, mean, std = True, law["mean"], law["std"]
    return inside and abs(sample.mean - mean) <= 4 * sample.mean_error and abs(sample.std - std) <= 4 * sample.std_error


def _fitted(sample: Sample) -> dict:
    mean = 0.0 if abs(sample.mean) <= 3 * sample.mean_error else shortest(sample.mean, 3 * sample.mean_error)
    if sample.n < _SAMPLE_FOR_SHAPE or sample.kurtosis > _KURTOSIS_BORDER:
        return {"dist": "normal", "mean": mean, "std": shortest(sample.std, 3 * sample.std_error)}
    # The extremes of n uniform values fall short of the bounds by about range / n.
    reach = (sample.high - sample.low) / sample.n
    half = shortest(max(sample.high - mean, mean - sample.low) + reach, reach)
    return {"dist": "uniform", "low": mean - half, "high": mean + half}


def shortest(value: float, tolerance: float) -> float:
    """The decimal with the fewest digits within `tolerance` of `value`."""
    for digits in range(1, 17):
        rounded = float(f"{value:.{digits - 1}e}")
        if abs(rounded - value) <= tolerance:
            return rounded
    return value
