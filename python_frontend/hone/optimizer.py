"""Reads an optimizer: a torch optimizer object or a dictionary, into the `hone.optimizer` attribute.

    {"name": "adamw", "lr", "weight_decay", "beta1", "beta2", "eps", "maximize", "clip", "groups": [...]}
    {"name": "sgd", "lr", "weight_decay", "momentum", "nesterov", "maximize", "clip", "groups": [...]}

A group is {"lr_scale", "decay_scale"}: `lr` and `weight_decay` are the largest over the groups, and a group's own value
is that times its scale. `clip`, the bound of the gradient's global norm, and the flags are there only where set.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Union

import torch

from .errors import HoneError

OptimizerLike = Union[torch.optim.Optimizer, dict, None]

_DEFAULTS = {
    "adamw": {"lr": 1e-3, "weight_decay": 1e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "maximize": False},
    "sgd": {"lr": 1e-3, "weight_decay": 0.0, "momentum": 0.0, "nesterov": False, "maximize": False},
}

# What must be the same in every group.
_SHARED = {"adamw": ("beta1", "beta2", "eps", "maximize"), "sgd": ("momentum", "nesterov", "maximize")}

# Options that change the update in ways the dialect does not have, and their harmless value.
_REFUSED = {"amsgrad": False, "dampening": 0, "decoupled_weight_decay": None}


@dataclass(frozen=True)
class OptimizerSpec:
    """The attribute, and the group of each parameter the optimizer holds, by canonical name."""

    attribute: dict
    group_of: dict[str, int]


def read_optimizer(
    optimizer: OptimizerLike, parameters: dict[str, torch.nn.Parameter], clip: float | None
) -> OptimizerSpec | None:
    """`parameters`: the model's, by canonical name. Raises HoneError naming what is not supported."""
    if clip is not None and not clip > 0:
        raise HoneError(f"clip: is {clip}, expected a positive norm")
    if optimizer is None:
        if clip is not None:
            raise HoneError("clip: needs an optimizer")
        return None
    if isinstance(optimizer, dict):
        name, options = _from_dict(optimizer)
        groups, group_of = [options], {fqn: 0 for fqn, p in parameters.items() if p.requires_grad}
        clip = optimizer.get("clip", clip)
    elif isinstance(optimizer, torch.optim.Optimizer):
        name, groups, group_of = _from_torch(optimizer, parameters)
    else:
        raise HoneError(f"optimizer: is a {type(optimizer).__name__}, expected a torch optimizer or a dictionary")
    return OptimizerSpec(_attribute(name, groups, clip), group_of)


def _from_dict(spec: dict) -> tuple[str, dict]:
    name = spec.get("name")
    if name not in _DEFAULTS:
        raise HoneError(f"optimizer: name is {name!r}, expected one of {', '.join(_DEFAULTS)}")
    options = dict(spec)
    if "betas" in options:
        options["beta1"], options["beta2"] = options.pop("betas")
    unknown = set(options) - set(_DEFAULTS[name]) - {"name", "clip"}
    if unknown:
        raise HoneError(
            f"optimizer: {name} has no option '{sorted(unknown)[0]}', expected {', '.join(_DEFAULTS[name])}"
        )
    return name, _DEFAULTS[name] | {k: v for k, v in options.items() if k not in ("name", "clip")}


def _from_torch(
    optimizer: torch.optim.Optimizer, parameters: dict[str, torch.nn.Parameter]
) -> tuple[str, list[dict], dict[str, int]]:
    kind = type(optimizer)
    if kind not in (torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD):
        raise HoneError(f"optimizer: {kind.__name__} is not supported, only AdamW, SGD, and Adam without weight decay")
    names = {id(tensor): fqn for fqn, tensor in parameters.items()}
    groups, group_of = [], {}
    for index, group in enumerate(optimizer.param_groups):
        where = f"optimizer: {kind.__name__} group {index}"
        for option, harmless in _REFUSED.items():
            if harmless is not None and group.get(option, harmless) != harmless:
                raise HoneError(f"{where}: {option}={group[option]} is not supported, only {harmless}")
        if kind is torch.optim.Adam and group["weight_decay"] != 0 and not group.get("decoupled_weight_decay"):
            raise HoneError(f"{where}: weight_decay={group['weight_decay']} of Adam is not decoupled; use AdamW")
        groups.append(_options(kind, group))
        for tensor in group["params"]:
            if id(tensor) not in names:
                raise HoneError(f"{where}: a parameter of shape {list(tensor.shape)} is not one of the model's")
            group_of[names[id(tensor)]] = index
    return "sgd" if kind is torch.optim.SGD else "adamw", groups, group_of


def _options(kind: type, group: dict) -> dict:
    number = lambda x: x.item() if isinstance(x, torch.Tensor) else x
    options = {
        "lr": number(group["lr"]),
        "weight_decay": group["weight_decay"],
        "maximize": bool(group.get("maximize")),
    }
    if kind is torch.optim.SGD:
        return options | {"momentum": group["momentum"], "nesterov": bool(group["nesterov"])}
    beta1, beta2 = map(number, group["betas"])
    return options | {"beta1": beta1, "beta2": beta2, "eps": group["eps"]}


def _attribute(name: str, groups: list[dict], clip: float | None) -> dict:
    shared = {}
    for option in _SHARED[name]:
        values = {group[option] for group in groups}
        if len(values) > 1:
            raise HoneError(
                f"optimizer: groups differ in {option} ({', '.join(map(str, sorted(values)))}), "
                "only lr and weight_decay may differ"
            )
        shared[option] = values.pop()
    for option, number in [*shared.items(), *((k, g[k]) for g in groups for k in ("lr", "weight_decay"))]:
        if not isinstance(number, bool) and not 0 <= number < (1 if option.startswith("beta") else float("inf")):
            raise HoneError(
                f"optimizer: {option} is {number}, expected " + ("[0, 1)" if option.startswith("beta") else ">= 0")
            )
    base = {option: float(max(group[option] for group in groups)) for option in ("lr", "weight_decay")}
    scale = lambda group, option: float(group[option]) / base[option] if base[option] else 1.0
    result = {"name": name, **base}
    result |= {option: float(value) for option, value in shared.items() if not isinstance(value, bool)}
    result |= {option: True for option, value in shared.items() if value is True}
    if clip is not None:
        result["clip"] = float(clip)
    result["groups"] = [{"lr_scale": scale(g, "lr"), "decay_scale": scale(g, "weight_decay")} for g in groups]
    return result


def rebuild(
    optimizer: OptimizerLike, parameters: dict[str, torch.nn.Parameter], copies: dict[str, torch.nn.Parameter]
) -> torch.optim.Optimizer:
    """The user's optimizer, fresh, over copies of the model's parameters (both by canonical name)."""
    if isinstance(optimizer, torch.optim.Optimizer):
        name_of = {id(tensor): fqn for fqn, tensor in parameters.items()}
        groups = []
        for group in optimizer.param_groups:
            options = {k: copy.deepcopy(v) for k, v in group.items() if k not in ("params", "decoupled_weight_decay")}
            groups.append(options | {"params": [copies[name_of[id(p)]] for p in group["params"]]})
        return type(optimizer)(groups)
    name, options = _from_dict(optimizer)
    trained = [copies[fqn] for fqn, p in parameters.items() if p.requires_grad]
    common = {k: options[k] for k in ("lr", "weight_decay", "maximize")}
    if name == "sgd":
        return torch.optim.SGD(trained, momentum=options["momentum"], nesterov=options["nesterov"], **common)
    return torch.optim.AdamW(trained, betas=(options["beta1"], options["beta2"]), eps=options["eps"], **common)
