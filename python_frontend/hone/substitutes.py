"""Functions of torch that torch.export cannot trace, since tensors' values decide the shapes inside them. While a
program is captured, calls of these go to functions here, with the same values and gradients.
"""

from __future__ import annotations

import math
from typing import Callable, Sequence

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from .errors import HoneError
from .source import SHAPE, placed_here

_MOST_FRAMES = 1024  # of a CTC loss, which is unrolled over them
_NONE = -1e30  # logarithm of the probability of what cannot be: -inf has no gradient


class Selected:
    """What masked_select gives: elements of a tensor, as many as values decide. Only what SUBSTITUTES names takes it."""

    def __init__(self, tensor: torch.Tensor, mask: torch.Tensor) -> None:
        self.tensor, self.mask = tensor, mask

    def __getattr__(self, name: str):
        raise HoneError(placed_here(SHAPE))

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise HoneError(placed_here(SHAPE))

    def rows(self) -> torch.Tensor:
        """Of a mask of the tensor's shape: the selected elements of each row first, then others."""
        order = torch.sort((~self.mask).to(torch.int64), dim=-1, stable=True).indices
        return self.tensor.gather(-1, order)


def _refuse(*operands):
    raise HoneError(placed_here(SHAPE))


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "and", "or", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Selected, f"__{_name}__", _refuse)
    setattr(Selected, f"__r{_name}__", _refuse)
for _name in ("neg", "getitem", "len", "iter", "abs", "invert"):
    setattr(Selected, f"__{_name}__", _refuse)


class Substituting(TorchFunctionMode):
    """Has calls of what SUBSTITUTES names go there."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in SUBSTITUTES:
            return SUBSTITUTES[function](*args, **kwargs)
        if any(isinstance(x, Selected) for x in (*args, *kwargs.values())):
            raise HoneError(placed_here(SHAPE))
        return function(*args, **kwargs)


def _masked_select(input: torch.Tensor, mask: torch.Tensor) -> Selected:
    return Selected(input, mask)


# -- CTC ----------------------------------------------------------------------------------------------------------


def _ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor | Selected,
    input_lengths: torch.Tensor | Sequence[int],
    target_lengths: torch.Tensor | Sequence[int],
    blank: int = 0,
    reduction: str | int = "mean",
    zero_infinity: bool = False,
) -> torch.Tensor:
    """log_probs [T, N, C], targets [N, S], or those that a mask of this shape selects, lengths [N] -> minus the
    logarithm of the probability of all alignments."""
    targets = targets.rows() if isinstance(targets, Selected) else targets
    reduction = {0: "none", 1: "mean", 2: "sum"}.get(reduction, reduction)
    if log_probs.dim() == 2:
        loss = _ctc_loss(log_probs.unsqueeze(1), targets.unsqueeze(0), input_lengths, target_lengths, blank, reduction,
                         zero_infinity)
        return loss.squeeze(0) if reduction == "none" else loss
    if targets.dim() != 2:
        raise HoneError(placed_here("ctc_loss: targets have one dimension, expected [N, S], padded to one length"))
    if len(log_probs) > _MOST_FRAMES:
        raise HoneError(placed_here(f"ctc_loss: has {len(log_probs)} frames, and is unrolled up to {_MOST_FRAMES}"))
    frames, lengths = _line(input_lengths).unsqueeze(1), _line(target_lengths)
    likelihood = _forward(log_probs, targets, frames, lengths.unsqueeze(1), blank)
    is_possible = likelihood > _NONE / 2
    loss = torch.where(is_possible, -likelihood, 0.0 if zero_infinity else math.inf)
    if reduction == "mean":
        return (loss / lengths.clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss


def _line(lengths: torch.Tensor | Sequence[int] | int) -> torch.Tensor:
    return torch.as_tensor(lengths).reshape(-1)


def _forward(
    log_probs: torch.Tensor, targets: torch.Tensor, frames: torch.Tensor, lengths: torch.Tensor, blank: int
) -> torch.Tensor:
    """The sum over the alignments, by frames: place 2 i + 1 is label i, the places between are blanks."""
    count = 2 * targets.shape[1] + 1
    place = torch.arange(count)
    labels = F.pad(targets.repeat_interleave(2, 1), (0, 1))
    labels = torch.where((place % 2 == 1) & (place < 2 * lengths), labels, blank)  # what pads targets is no label
    is_other = F.pad(labels[:, 2:] != labels[:, :-2], (2, 0))
    may_skip = is_other & (place % 2 == 1)  # the blank between two labels that differ
    scores = log_probs.gather(2, labels.unsqueeze(0).expand(len(log_probs), -1, -1))
    alpha = torch.where(place < 2, scores[0], _NONE)
    for frame in range(1, len(log_probs)):
        stay, step = alpha, F.pad(alpha, (1, 0), value=_NONE)[:, :-1]
        skip = torch.where(may_skip, F.pad(alpha, (2, 0), value=_NONE)[:, :count], _NONE)
        most = torch.maximum(torch.maximum(stay, step), skip).detach()
        total = (stay - most).exp() + (step - most).exp() + (skip - most).exp()
        alpha = torch.where(frame < frames, scores[frame] + most + total.log(), alpha)
    is_last = (place == 2 * lengths) | (place == 2 * lengths - 1)
    return torch.where(is_last, alpha, _NONE).logsumexp(1)


SUBSTITUTES: dict[Callable, Callable] = {
    F.ctc_loss: _ctc_loss,
    torch.ctc_loss: _ctc_loss,
    torch.masked_select: _masked_select,
    torch.Tensor.masked_select: _masked_select,
}
