"""Reads an optimizer of torch, a list of them, or a dictionary, into the `hone.optimizer` attribute.

optimizer_spec.py describes the two.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Union

import torch
from torch.optim import optimizer as all_optimizers

from .errors import HoneError, warn
from .optimizer_spec import (
    DEFAULTS,
    Group,
    OptimizerSpec,
    attribute_of,
    checked_clip,
    from_dict,
    number,
    one_clip,
    refuse_vectors,
)
from .schedule import base_rate, scheduler_note

OptimizerLike = Union[torch.optim.Optimizer, Sequence[torch.optim.Optimizer], dict, None]

_KINDS = {torch.optim.AdamW: "adamw", torch.optim.Adam: "adamw", torch.optim.SGD: "sgd"}
if hasattr(torch.optim, "Adafactor"):
    _KINDS[torch.optim.Adafactor] = "adafactor"
if hasattr(torch.optim, "Muon"):
    _KINDS[torch.optim.Muon] = "muon"

# Options that change the update in ways the dialect does not have, and their harmless value.
_REFUSED = {
    "amsgrad": False,
    "dampening": 0,
    "decoupled_weight_decay": None,
    "ns_steps": 5,
    "ns_coefficients": (3.4445, -4.7750, 2.0315),
}

# Why optimizers of other packages that users ask for are refused, by a part of their classes' names in lower case.
_REASONS = {
    "schedulefree": "it takes gradients at one point and evaluates at another, and a program has one set of weights",
    "soap": "its bases come from QR decompositions, for which there is no op",
}

# Entries of a group that say how PyTorch computes the update, not what it is, and those of a scheduler.
_NOT_REBUILT = {"params", "foreach", "fused", "capturable", "differentiable", "initial_lr", "max_lr", "min_lr"}


def read_optimizer(
    optimizer: OptimizerLike, parameters: dict[str, torch.nn.Parameter], clip: float | None
) -> OptimizerSpec | None:
    """`parameters`: the model's, by canonical name. Raises HoneError naming what is not supported."""
    clip = checked_clip(clip)
    if optimizer is None:
        if clip is not None:
            raise HoneError("clip: needs an optimizer")
        return None
    if isinstance(optimizer, dict):
        groups, group_of = [from_dict(optimizer)], {fqn: 0 for fqn, p in parameters.items() if p.requires_grad}
        clip = one_clip(optimizer.get("clip"), clip)
        both = "optimizer=[torch.optim.Muon(matrices), torch.optim.AdamW(others)]"
        refuse_vectors(groups[0][0], {fqn: parameters[fqn].dim() for fqn in group_of}, both)
    else:
        groups, group_of = _from_list(each_of(optimizer), parameters)
    attribute = attribute_of(groups, checked_clip(clip))
    if isinstance(optimizer, dict) and optimizer.get("moments", "fp32") != "fp32":
        attribute["moments"] = optimizer["moments"]
    return OptimizerSpec(attribute, group_of)


def each_of(optimizer: OptimizerLike) -> list:
    """The optimizers of a list, or the one that is given, or none."""
    if isinstance(optimizer, (list, tuple)):
        return list(optimizer)
    return [] if optimizer is None else [optimizer]


def _from_list(optimizers: list, parameters: dict[str, torch.nn.Parameter]) -> tuple[list[Group], dict[str, int]]:
    """The groups of all, one behind the other."""
    if not optimizers:
        raise HoneError("optimizer: is an empty list, expected torch optimizers in it")
    groups, group_of = [], {}
    for index, optimizer in enumerate(optimizers):
        where = "optimizer" if len(optimizers) == 1 else f"optimizer {index} of the list"
        if not isinstance(optimizer, torch.optim.Optimizer):
            expected = "a torch optimizer, a list of them or a dictionary" if len(optimizers) == 1 else (
                "a torch optimizer: a dictionary stands alone, for it says nothing about which parameters are its own"
            )
            raise HoneError(f"{where}: is a {type(optimizer).__name__}, expected {expected}")
        more, held = _from_torch(optimizer, parameters, where)
        for fqn, group in held.items():
            if fqn in group_of:
                raise HoneError(f"{where}: parameter '{fqn}' is in an earlier one too, expected it in one optimizer")
            group_of[fqn] = len(groups) + group
        groups += more
    return groups, group_of


def _from_torch(
    optimizer: torch.optim.Optimizer, parameters: dict[str, torch.nn.Parameter], optimizer_name: str
) -> tuple[list[Group], dict[str, int]]:
    kind = type(optimizer)
    if kind not in _KINDS:
        for part, reason in _REASONS.items():
            if part in kind.__name__.lower():
                raise HoneError(
                    f"{optimizer_name}: {kind.__name__} is not supported: {reason}; expected AdamW, SGD, Adafactor or "
                    "Muon of torch.optim"
                )
        raise HoneError(
            f"{optimizer_name}: {kind.__name__} is not supported, only AdamW, SGD, Adafactor, Muon, and Adam without "
            'weight decay, or in its place a dictionary such as {"name": "lion", "lr": 1e-4} (docs/export.md)'
        )
    _refuse_hooks(optimizer)
    names = {id(tensor): fqn for fqn, tensor in parameters.items()}
    groups, group_of = [], {}
    for index, group in enumerate(optimizer.param_groups):
        where = f"{optimizer_name}: {kind.__name__} group {index}"
        for option, harmless in _REFUSED.items():
            if harmless is not None and group.get(option, harmless) != harmless:
                raise HoneError(f"{where}: {option}={group[option]} is not supported, only {harmless}")
        if kind is torch.optim.Adam and group["weight_decay"] != 0 and not group.get("decoupled_weight_decay"):
            raise HoneError(f"{where}: weight_decay={group['weight_decay']} of Adam is not decoupled; use AdamW")
        groups.append((_KINDS[kind], _options(kind, group, where)))
        for tensor in group["params"]:
            if id(tensor) not in names:
                raise HoneError(f"{where}: a parameter of shape {list(tensor.shape)} is not one of the model's")
            group_of[names[id(tensor)]] = index
    for note in (scheduler_note(optimizer), _state_note(optimizer)):
        if note is not None:
            warn(note)
    return groups, group_of


def _refuse_hooks(optimizer: torch.optim.Optimizer) -> None:
    """Refuses what a user runs before or after each step, which may change gradients or weights."""
    held = (
        (optimizer._optimizer_step_pre_hooks, "this one has a hook before"),
        (optimizer._optimizer_step_post_hooks, "this one has a hook after"),
        (all_optimizers._global_optimizer_pre_hooks, "all have a hook before"),
        (all_optimizers._global_optimizer_post_hooks, "all have a hook after"),
    )
    for hooks, what in held:
        if hooks:
            raise HoneError(
                f"optimizer: {type(optimizer).__name__}: {what} step(), and the program would lose it; expected no "
                "hooks: remove it (clipping the gradient's norm is clip=)"
            )


def _state_note(optimizer: torch.optim.Optimizer) -> str | None:
    """A line about an optimizer that has taken steps, whose moments the package leaves out."""
    states = [state for state in optimizer.state.values() if any(value is not None for value in state.values())]
    if not states:
        return None
    steps = [int(number(state["step"])) for state in states if "step" in state]
    taken = f"{max(steps)} steps" if steps else "steps"
    return f"optimizer: {type(optimizer).__name__} has taken {taken}; its moments are left out, a run begins with zeros"


def _options(kind: type, group: dict, where: str) -> dict:
    options = {
        "lr": base_rate(group, where),
        "weight_decay": number(group["weight_decay"]),
        "maximize": bool(group.get("maximize")),
    }
    if _KINDS[kind] == "muon":
        numbers = {option: number(group[option]) for option in ("momentum", "eps")}
        match_rms = group["adjust_lr_fn"] == "match_rms_adamw"
        nesterov = bool(group["nesterov"] and numbers["momentum"])  # without momentum the two are the same
        return options | numbers | {"nesterov": nesterov, "match_rms_adamw": match_rms}
    if kind is torch.optim.SGD:
        return options | {"momentum": number(group["momentum"]), "nesterov": bool(group["nesterov"])}
    if _KINDS[kind] == "adafactor":
        eps1, eps2 = group["eps"]
        eps1 = DEFAULTS["adafactor"]["eps1"] if eps1 is None else eps1
        return options | {
            "beta2_decay": group["beta2_decay"],
            "eps1": eps1,
            "eps2": eps2,
            "clip_threshold": group["d"],
        }
    beta1, beta2 = map(number, group["betas"])
    return options | {"beta1": beta1, "beta2": beta2, "eps": number(group["eps"])}


def rebuild(
    optimizer: OptimizerLike, parameters: dict[str, torch.nn.Parameter], copies: dict[str, torch.nn.Parameter]
) -> torch.optim.Optimizer:
    """The user's optimizer, or one of a list, fresh, over copies of the model's parameters (both by canonical name).
    What PyTorch lacks, Lion and moments in fewer bits, is refused."""
    if isinstance(optimizer, torch.optim.Optimizer):
        name_of = {id(tensor): fqn for fqn, tensor in parameters.items()}
        groups = []
        for group in optimizer.param_groups:
            options = {k: copy.deepcopy(v) for k, v in group.items() if k not in _NOT_REBUILT}
            options["lr"] = base_rate(group, "optimizer")
            if _KINDS[type(optimizer)] == "adafactor":  # what None means for the model, not for wider copies of it
                options["eps"] = (_options(type(optimizer), group, "optimizer")["eps1"], group["eps"][1])
            groups.append(options | {"params": [copies[name_of[id(p)]] for p in group["params"]]})
        return type(optimizer)(groups)
    name, options = from_dict(optimizer)
    trained = [copies[fqn] for fqn, p in parameters.items() if p.requires_grad]
    common = {k: options[k] for k in ("lr", "weight_decay", "maximize")}
    if name == "lion" or optimizer.get("moments", "fp32") != "fp32":
        what = "lion" if name == "lion" else f"moments in {optimizer['moments']}"
        raise HoneError(f"golden: PyTorch has no {what}, expected an optimizer that it has")
    if name == "adafactor":
        return torch.optim.Adafactor(
            trained,
            beta2_decay=options["beta2_decay"],
            eps=(options["eps1"], options["eps2"]),
            d=options["clip_threshold"],
            **common,
        )
    if name == "muon":
        del common["maximize"]
        adjust = "match_rms_adamw" if options["match_rms_adamw"] else "original"
        own = {option: options[option] for option in ("momentum", "eps", "nesterov")}
        return torch.optim.Muon(trained, adjust_lr_fn=adjust, **own, **common)
    if name == "sgd":
        return torch.optim.SGD(trained, momentum=options["momentum"], nesterov=options["nesterov"], **common)
    return torch.optim.AdamW(trained, betas=(options["beta1"], options["beta2"]), eps=options["eps"], **common)
