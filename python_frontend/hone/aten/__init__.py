"""From ATen to hone: one emitter per overload, by family. Needs neither torch nor its types."""

from . import elementwise, experts, functions, nn, norms, pooling  # noqa: F401  (each fills the table)
from . import random, recurrent, reduce, selection, shape, windows  # noqa: F401
from .registry import TABLE

__all__ = ["TABLE"]
