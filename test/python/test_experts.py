"""Products of groups of rows, as mixtures of experts of transformers write them; compared as in test_aten.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch.nn as nn  # noqa: E402
from hone.emit import emit  # noqa: E402
from test_aten import Case, check  # noqa: E402
from transformers.integrations import moe  # noqa: E402,F401  (registers the operator)

ENDS = torch.tensor([2, 2, 9], dtype=torch.int32)


def test_groups_of_rows(verified) -> None:
    graph = check(Case(lambda x, w, e: torch.ops.transformers.grouped_mm_fallback(x, w, e), (9, 5), (3, 5, 7)), ENDS)
    assert [op.name for op in graph.ops].count("grouped_dot") == 1
    verified(emit(graph))


class _Experts(nn.Module):
    """Tokens sorted by their expert, two products of groups, and back in their own order with weights."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        shapes = {"x": (6, 5), "router": (5, 4), "up": (4, 8, 5), "down": (4, 5, 8)}
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape, generator=generator)))

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        weights, experts = (self.x @ self.router).softmax(-1).topk(2, dim=-1)
        ids, order = torch.sort(experts.reshape(-1))
        counts = torch.histc(ids.to(self.x.dtype), bins=4, min=0, max=3)
        ends = torch.cumsum(counts, 0, dtype=torch.int32)
        rows = self.x[order // 2]
        rows = torch.ops.transformers.grouped_mm_fallback(rows, self.up.transpose(1, 2), ends).relu()
        rows = torch.ops.transformers.grouped_mm_fallback(rows, self.down.transpose(1, 2), ends)
        rows = rows * weights.reshape(-1)[order].unsqueeze(-1)
        back = torch.empty_like(order)
        back[order] = torch.arange(12)
        return (rows[back].view(6, 2, 5).sum(1) * self.x.sin()).sum()


def test_experts_chosen_by_a_router(verified) -> None:
    verified(emit(check(_Experts())))
