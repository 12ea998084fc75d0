"""honec --dry-run says whether a step fits into the GPU, and what to type where it does not."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")

import hone  # noqa: E402

HONEC = os.path.join(ROOT, "build", "bin", "honec")


class Table(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = torch.nn.Embedding(16, 8192), torch.nn.Linear(8192, 16)

    def forward(self, tokens):
        return self.head(torch.tanh(self.table(tokens)))


def loss(model, tokens, targets):
    return torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


@pytest.mark.skipif(not os.path.exists(HONEC), reason="honec is not built")
def test_a_step_that_does_not_fit(tmp_path) -> None:
    model = Table()
    ids = torch.zeros(1 << 12, 1 << 10, dtype=torch.long)  # rows of 8192 for them: 128 GiB
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hone.export(model, loss, (ids, ids), optimizer, out=str(tmp_path / "m.hone"))
    command = [HONEC, tmp_path / "m.hone", "--target=cuda", "--dry-run"]
    told = {
        arch: subprocess.run([*command, f"--arch={arch}"], capture_output=True, text=True, check=True).stdout
        for arch in ("sm_80", "sm_90")
    }
    for arch, room in (
        ("sm_80", "78.00 GiB of 80.00 GiB (A100 SXM 80 GB)"),
        ("sm_90", "139.00 GiB of 141.00 GiB (H200 SXM)"),
    ):
        line = f"available memory {room}, less 2.00 GiB assumed for context and libraries: does not fit: takes "
        assert line in told[arch]
    assert "--memory-budget=78.00GiB: recomputation alone does not fit, takes" in told["sm_80"]
    for arch, mesh in (("sm_80", "fs=4"), ("sm_90", "fs=2")):  # the smallest that is enough
        assert re.search(rf"--mesh={mesh}: [0-9.]+ GiB, [0-9.]+ ms per step\n", told[arch])
        assert "--moments" not in told[arch]  # SGD has none
