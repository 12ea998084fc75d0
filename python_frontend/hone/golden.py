"""The golden file: N eager steps of the real model, against which compiled training is compared."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

import torch

from .guards import plain_name
from .optimizer import OptimizerLike, each_of, rebuild

_STREAM_SEED = 20761


@dataclass(frozen=True)
class Feed:
    """How the batch is made: the place of each token input and how far it is shifted (tokens 0, targets 1)."""

    shifts: dict[int, int]
    vocab: int


def golden_steps(
    model: torch.nn.Module,
    loss_fn: Callable | None,
    batch: Sequence[torch.Tensor],
    optimizer: OptimizerLike,
    clip: float | None,
    steps: int,
    feed: Feed | None,
    values: Mapping[str, torch.Tensor] | None = None,
) -> dict[str, torch.Tensor]:
    """Tensors of the golden file:

    tokens [steps * B * T + 1] i32, a random stream; step i takes ids from i * B * T on, targets one later
    loss [steps] f32, before each update; param.<fqn> after the last step; grad.<fqn> of the first, before clipping
    loss_f64 [steps], grad_f64.<fqn>: the same run in double precision, but for casts the model itself makes
    Inputs that are not token streams keep the example's values at every step (`export` adds them to the file as
    input.<name>). The model is left as it was. `values` take the place of parameters that the package holds in fewer
    bits, and the file has no param.<fqn> of them.
    """
    result: dict[str, torch.Tensor] = {}
    batches = [tuple(batch)] * steps
    if feed is not None:
        size = batch[next(iter(feed.shifts))].numel()
        generator = torch.Generator().manual_seed(_STREAM_SEED)
        tokens = torch.randint(feed.vocab, (steps * size + 1,), generator=generator)
        result["tokens"] = tokens.int()
        batches = [_step_batch(batch, feed, tokens[i * size : (i + 1) * size + 1]) for i in range(steps)]
    for suffix, dtype in (("", torch.float32), ("_f64", torch.float64)):
        result |= _run(model, loss_fn, batches, optimizer, clip, suffix, dtype, values or {})
    return result


def _step_batch(batch: Sequence[torch.Tensor], feed: Feed, stream: torch.Tensor) -> tuple[torch.Tensor, ...]:
    ids = lambda i, like: stream[feed.shifts[i] : feed.shifts[i] + like.numel()].reshape(like.shape).to(like)
    return tuple(ids(i, like) if i in feed.shifts else like for i, like in enumerate(batch))


def _run(
    model: torch.nn.Module,
    loss_fn: Callable | None,
    batches: list[tuple[torch.Tensor, ...]],
    optimizer: OptimizerLike,
    clip: float | None,
    suffix: str,
    dtype: torch.dtype,
    values: Mapping[str, torch.Tensor],
) -> dict[str, torch.Tensor]:
    twin = copy.deepcopy(model).to(dtype)
    if not twin.training:  # as capture does
        twin.train()
    parameters, copies = ({plain_name(n): p for n, p in m.named_parameters()} for m in (model, twin))
    for fqn, value in values.items():
        copies[fqn].data.copy_(value)
    updates = [rebuild(each, parameters, copies) for each in each_of(optimizer)]
    result, losses = {}, []
    for step, batch in enumerate(batches):
        batch = tuple(x.to(dtype) if x.dtype.is_floating_point else x for x in batch)
        twin.zero_grad(set_to_none=True)
        loss = twin(*batch) if loss_fn is None else loss_fn(twin, *batch)
        loss.backward()
        losses.append(loss.detach())
        if step == 0:
            result |= {f"grad{suffix}.{fqn}": p.grad.clone() for fqn, p in copies.items() if p.grad is not None}
        if clip is not None and updates:
            held = [p for update in updates for group in update.param_groups for p in group["params"]]
            torch.nn.utils.clip_grad_norm_(held, clip)
        for update in updates:
            update.step()
    result[f"loss{suffix}"] = torch.stack(losses).to(dtype)
    if dtype == torch.float32:
        result |= {f"param.{fqn}": p.detach() for fqn, p in copies.items() if fqn not in values}
    return result
