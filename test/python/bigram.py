"""A small model, its loss and batch, and the export of it into a folder."""

from __future__ import annotations

import json
import os

import hone
import torch
import torch.nn as nn
import torch.nn.functional as F

IDS = torch.zeros(2, 5, dtype=torch.long)


class Net(nn.Module):
    """A tied bigram model with one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 6)
        self.mix = nn.Linear(6, 6)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.mix(self.table(tokens)))


def loss(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def export(tmp_path, model: nn.Module, loss_fn=loss, batch=(IDS, IDS.clone()), **options) -> tuple[dict, str]:
    out = str(tmp_path / "m.hone")
    assert hone.export(model, loss_fn, batch, out=out, **options) == out
    manifest = json.load(open(os.path.join(out, "manifest.json")))
    return manifest, open(os.path.join(out, "graph.mlir")).read()
