"""What the benchmarks share: a training step of PyTorch with its best settings, and how results are quoted."""

from __future__ import annotations

import pathlib
import platform
import statistics
import textwrap
from collections.abc import Callable


def torch_step(training, vocab: int, batch: int, sequence: int, precision: str, *, compiles: bool,
               device: str = "cpu", mode: str = "default",
               prepare: Callable = lambda model: None) -> Callable[[], None]:
    """One step of AdamW with clipping at 1 on random tokens below `vocab`: fused optimizer, autocast for bf16,
    torch.compile in `mode` if asked for. `prepare` may change the model before. A GPU may still work when it returns.
    `training` is that of the package's examples."""
    import torch

    torch.manual_seed(0)
    model = training.model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids, targets = (torch.randint(0, vocab, (batch, sequence), device=device) for _ in range(2))
    prepare(model)

    def loss_of(m, *inputs):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bf16"):
            return training.loss_fn(m, *inputs)

    if compiles:
        loss_of = torch.compile(loss_of, mode=mode)

    def step() -> None:
        loss = loss_of(model, ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def quartiles(values: list[float]) -> str:
    """The median and, of several values, the quartiles."""
    if len(values) < 2:
        return f"{values[0]:.2f}"
    low, _, high = statistics.quantiles(values, n=4)
    return f"**{statistics.median(values):.2f}** ({low:.2f} to {high:.2f})"


def paragraph(text: str) -> str:
    """The text in lines of a page."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def cpu_name() -> str:
    """The processor, as the system calls it."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
