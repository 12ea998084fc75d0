"""ATen cells of recurrent layers. The layers themselves are imported by torch's definitions, one step after the other."""

from __future__ import annotations

from typing import Sequence

from ..builder import Builder
from ..graph import Value
from .nn import linear
from .registry import emits


def _gates(b: Builder, x: Value, count: int) -> list[Value]:
    """[..., count H] -> count tensors [..., H]."""
    last, size = x.rank - 1, x.shape[-1] // count
    return [b.slice_dim(x, last, at * size, (at + 1) * size) for at in range(count)]


@emits("lstm_cell.default")
def lstm_cell(
    b: Builder,
    input: Value,
    hx: Sequence[Value],
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> list[Value]:
    """input [..., I], state (h, c) of [..., H], weights [4 H, I] and [4 H, H] -> the next (h, c)."""
    hidden, cell = hx
    total = b.binary("add", linear(b, input, w_ih, b_ih), linear(b, hidden, w_hh, b_hh))
    enter, forget, new, leave = _gates(b, total, 4)
    kept = b.binary("mul", b.unary("logistic", forget), cell)
    added = b.binary("mul", b.unary("logistic", enter), b.unary("tanh", new))
    cell = b.binary("add", kept, added)
    return [b.binary("mul", b.unary("logistic", leave), b.unary("tanh", cell)), cell]


@emits("gru_cell.default")
def gru_cell(
    b: Builder,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:
    """input [..., I], state [..., H], weights [3 H, I] and [3 H, H] -> the next state."""
    x_reset, x_update, x_new = _gates(b, linear(b, input, w_ih, b_ih), 3)
    h_reset, h_update, h_new = _gates(b, linear(b, hx, w_hh, b_hh), 3)
    reset, update = (
        b.unary("logistic", b.binary("add", x, h)) for x, h in ((x_reset, h_reset), (x_update, h_update))
    )
    new = b.unary("tanh", b.binary("add", x_new, b.binary("mul", reset, h_new)))
    return b.binary("add", new, b.binary("mul", update, b.binary("sub", hx, new)))
