"""Functions that capture replaces: torch's own values and gradients, and exports of what torch.export cannot trace."""

from __future__ import annotations

from typing import Callable

import pytest

torch = pytest.importorskip("torch")

import hone  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from hone.substitutes import Substituting  # noqa: E402

FRAMES, ROWS, CLASSES, LABELS = 9, 4, 5, 3


def both(function: Callable, *inputs: torch.Tensor) -> None:
    """Values and gradients of torch's function and of what replaces it agree."""
    results = []
    for context in (torch.enable_grad(), Substituting()):
        own = [x.detach().clone().requires_grad_() for x in inputs]
        with context:
            value = function(*own)
        (value * torch.linspace(1, 2, value.numel(), dtype=value.dtype).reshape(value.shape)).sum().backward()
        results.append([value.detach(), *(x.grad for x in own)])
    for theirs, ours in zip(*results):
        torch.testing.assert_close(ours, theirs)


def scores() -> torch.Tensor:
    return torch.randn(FRAMES, ROWS, CLASSES, dtype=torch.float64)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_sums_over_alignments(reduction: str) -> None:
    """Rows of fewer frames and labels, equal labels side by side, none, and padding that is no class."""
    targets = torch.tensor([[1, 2, 2], [3, 3, -100], [4, -100, -100], [1, 2, 1]])
    frames, lengths = torch.tensor([9, 6, 5, 3]), torch.tensor([3, 2, 0, 3])
    loss = lambda x: F.ctc_loss(x.log_softmax(-1), targets, frames, lengths, reduction=reduction)
    both(loss, scores())
    both(lambda x: F.ctc_loss(x.log_softmax(-1), targets % 2, [9, 9, 9, 8], (1, 2, 0, 3), blank=4, reduction=reduction),
         scores())
    both(lambda x: F.ctc_loss(x[:, 0].log_softmax(-1), targets[0], frames[:1], lengths[:1], reduction=reduction),
         scores())


def test_ctc_of_selected_targets() -> None:
    """As models of transformers join them, which torch's takes as one line."""
    targets = torch.tensor([[1, 2, 2], [3, -100, -100], [-100, -100, -100], [-100, 4, 1]])
    mask = targets >= 0
    both(lambda x: F.ctc_loss(x.log_softmax(-1), targets.masked_select(mask), torch.full((ROWS,), FRAMES),
                              mask.sum(-1)), scores())


def test_ctc_without_an_alignment() -> None:
    targets = torch.full((ROWS, LABELS), 2)
    for zero in (False, True):
        with Substituting():
            x = scores().requires_grad_()
            loss = F.ctc_loss(x.log_softmax(-1), targets, [3, 9, 9, 9], [3] * ROWS, reduction="none", zero_infinity=zero)
        assert loss[0] == (0 if zero else float("inf")) and loss[1:].isfinite().all()
        loss[0].backward()
        assert (x.grad[:, 0] == 0).all()


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.linear(x).log_softmax(-1)


def export(loss: Callable, *inputs: torch.Tensor, folder) -> None:
    hone.export(Net(), loss, inputs, {"name": "sgd", "lr": 0.1}, out=str(folder / "m.hone"))


def test_exports_ctc(tmp_path) -> None:
    targets, x = torch.ones(ROWS, LABELS, dtype=torch.long), torch.randn(FRAMES, ROWS, 4)
    ends = torch.full((ROWS,), FRAMES), torch.full((ROWS,), LABELS)
    export(lambda model, x, targets: torch.nn.CTCLoss()(model(x), targets, *ends), x, targets, folder=tmp_path)


def test_refuses_other_uses_of_what_a_mask_selects(tmp_path) -> None:
    x = torch.randn(FRAMES, ROWS, 4)
    for use in (lambda chosen: chosen.sum(), torch.sum, lambda chosen: chosen + 1, lambda chosen: 2 * chosen):
        with pytest.raises(HoneError, match=r"test_substitutes.py:\d+: the shape depends on tensor values"):
            export(lambda model, x: use(torch.masked_select(model(x), x[..., :1] > 0)), x, folder=tmp_path)


def test_refuses_ctc_of_joined_or_long_targets(tmp_path) -> None:
    joined = lambda model, x, targets: F.ctc_loss(model(x), targets, [FRAMES] * ROWS, [LABELS] * ROWS)
    with pytest.raises(HoneError, match=r"test_substitutes.py:\d+: ctc_loss: targets have one dimension, expected \[N, "):
        export(joined, torch.randn(FRAMES, ROWS, 4), torch.ones(ROWS * LABELS, dtype=torch.long), folder=tmp_path)
    with pytest.raises(HoneError, match="ctc_loss: has 2000 frames, and is unrolled up to 1024"):
        export(joined, torch.randn(2000, ROWS, 4), torch.ones(ROWS, LABELS, dtype=torch.long), folder=tmp_path)
