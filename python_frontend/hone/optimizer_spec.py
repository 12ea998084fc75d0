"""The `hone.optimizer` attribute, and the dictionary that users may give for it. Standard library only.

    {"name": "adamw", "lr", "weight_decay", "beta1", "beta2", "eps", "maximize", "clip", "groups": [...]}
    {"name": "sgd", "lr", "weight_decay", "momentum", "nesterov", "maximize", "clip", "groups": [...]}
    {"name": "lion", "lr", "weight_decay", "beta1", "beta2", "maximize", "clip", "groups": [...]}
    {"name": "adafactor", "lr", "weight_decay", "beta2_decay", "eps1", "eps2", "clip_threshold", "maximize", ...}
    {"name": "muon", "lr", "weight_decay", "momentum", "eps", "nesterov", "match_rms_adamw", "clip", "groups": [...]}

All but adafactor and muon may have "moments": "fp32" (the default), "bf16" or, adamw alone, "8bit". A group is
{"lr_scale", "decay_scale"}: `lr` and `weight_decay` are the largest over the groups, and a group's own value is that
times its scale. A group whose other settings differ from the first one's also has "name" and all of its settings.
`clip`, the bound of the norm of all gradients, and the flags are there only where set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from .errors import HoneError

DEFAULTS = {
    "adamw": {"lr": 1e-3, "weight_decay": 1e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "maximize": False},
    "sgd": {"lr": 1e-3, "weight_decay": 0.0, "momentum": 0.0, "nesterov": False, "maximize": False},
    "lion": {"lr": 1e-4, "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.99, "maximize": False},
    "adafactor": {
        "lr": 1e-2,
        "weight_decay": 0.0,
        "beta2_decay": -0.8,
        "eps1": 2.0**-23,  # the eps of single precision
        "eps2": 1e-3,
        "clip_threshold": 1.0,
        "maximize": False,
    },
    "muon": {
        "lr": 1e-3,
        "weight_decay": 0.1,
        "momentum": 0.95,
        "eps": 1e-7,
        "nesterov": True,
        "match_rms_adamw": False,
        "maximize": False,
    },
}

# How moments can be kept; the first is the default.
MOMENTS = {
    "adamw": ("fp32", "bf16", "8bit"),
    "sgd": ("fp32", "bf16"),
    "lion": ("fp32", "bf16"),
    "adafactor": ("fp32",),
    "muon": ("fp32",),
}

# Of these the attribute has the largest of all groups, and each group a factor.
_SCALED = {"lr": "lr_scale", "weight_decay": "decay_scale"}

# Options that may be any number in a range, where it is not [0, inf) or, for what begins with "beta", [0, 1).
_RANGES = {"beta2_decay": (float("-inf"), 0.0, "<= 0"), "clip_threshold": (1.0, float("inf"), ">= 1")}

Group = tuple[str, dict]  # the optimizer of a group, and its options


@dataclass(frozen=True)
class OptimizerSpec:
    """The attribute, and the group of each parameter the optimizer holds, by canonical name."""

    attribute: dict
    group_of: dict[str, int]


def number(value: object) -> object:
    """A tensor or an array of one element as a number, anything else as it is."""
    return value.item() if hasattr(value, "item") and math.prod(value.shape) == 1 else value


def checked_clip(clip: object) -> object:
    clip = number(clip)
    if clip is not None and (isinstance(clip, bool) or not isinstance(clip, Real) or not clip > 0):
        raise HoneError(f"clip: is {clip!r}, expected a positive norm")
    return clip


def one_clip(of_optimizer: object, clip: object) -> object:
    if of_optimizer is not None and clip is not None and of_optimizer != clip:
        raise HoneError(f"clip: is {clip}, and {of_optimizer} in the optimizer; expected it once")
    return clip if of_optimizer is None else of_optimizer


def from_dict(spec: dict) -> Group:
    name = spec.get("name")
    if name not in DEFAULTS:
        raise HoneError(f"optimizer: name is {name!r}, expected one of {', '.join(DEFAULTS)}")
    options = dict(spec)
    if "betas" in options:
        betas = options.pop("betas")
        if not isinstance(betas, (tuple, list)) or len(betas) != 2 or {"beta1", "beta2"} & set(spec):
            raise HoneError(f"optimizer: betas is {betas!r}, expected two numbers, and no beta1 or beta2 beside them")
        options["beta1"], options["beta2"] = betas
    if "moments" in options and options["moments"] not in MOMENTS[name]:
        raise HoneError(
            f"optimizer: moments is {options['moments']!r}, expected {' or '.join(MOMENTS[name])} for {name}"
        )
    unknown = set(options) - set(DEFAULTS[name]) - {"name", "clip", "moments"}
    if unknown:
        raise HoneError(
            f"optimizer: {name} has no option '{sorted(unknown)[0]}', expected {', '.join(DEFAULTS[name])}"
        )
    taken = DEFAULTS[name] | {k: number(v) for k, v in options.items() if k in DEFAULTS[name]}
    if taken.get("nesterov") and not taken["momentum"]:
        raise HoneError("optimizer: nesterov is True with momentum 0, expected a momentum > 0")
    return name, taken


def refuse_vectors(name: str, ranks: dict[str, int], expected: str) -> None:
    """Muon is for matrices; PyTorch's refuses others itself. `ranks` of the trained parameters, by name."""
    for fqn, rank in ranks.items():
        if name == "muon" and rank != 2:
            raise HoneError(
                f"optimizer: parameter '{fqn}' has rank {rank}, but muon updates matrices; expected {expected}"
            )


def attribute_of(groups: list[Group], clip: float | None) -> dict:
    for name, options in groups:
        for option, value in options.items():
            _check_range(name, option, value)
    if all(options["lr"] == 0 for _, options in groups):
        raise HoneError(
            "optimizer: lr is 0, which trains nothing; expected the rate that schedules start from "
            "(a warm-up is a flag of ./train: --warmup)"
        )
    base = {option: float(max(options[option] for _, options in groups)) for option in _SCALED}
    first = _own_settings(*groups[0])
    result = {"name": first.pop("name"), **base, **first}
    if clip is not None:
        result["clip"] = float(clip)
    result["groups"] = []
    for name, options in groups:
        scales = {scale: float(options[o]) / base[o] if base[o] else 1.0 for o, scale in _SCALED.items()}
        own = _own_settings(name, options)
        result["groups"].append(scales if own == _own_settings(*groups[0]) else scales | own)
    return result


def _own_settings(name: str, options: dict) -> dict:
    """What a group has besides scaled options; flags only where set."""
    own = {option: value for option, value in options.items() if option not in _SCALED and value is not False}
    return {"name": name} | {option: value if value is True else float(value) for option, value in own.items()}


def _check_range(name: str, option: str, number: object) -> None:
    is_flag = isinstance(DEFAULTS[name][option], bool)
    if is_flag or isinstance(number, bool) or not isinstance(number, Real):
        good, wanted = is_flag and isinstance(number, bool), "True or False" if is_flag else "a number"
    elif option in _RANGES:
        least, most, wanted = _RANGES[option]
        good = least <= number <= most and abs(number) != float("inf")
    elif option.startswith("beta") or (name, option) == ("muon", "momentum"):
        good, wanted = 0 <= number < 1, "[0, 1)"
    else:
        good, wanted = 0 <= number < float("inf"), ">= 0"
    if not good:
        raise HoneError(f"optimizer: {option} is {number!r}, expected {wanted}")
