"""Which of PyTorch's operators export takes, and how: for those tagged core, which all others are made of."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .aten import TABLE
from .aten.complex import COMPLEX
from .aten.refused import BY_VALUE, REFUSED
from .decompose import definition_of
from .definitions import defined
from .nodes import twin_of


@dataclass(frozen=True)
class Support:
    """How an overload is taken. kind: `emitter`, `torch` (its definition), `hone` (definitions.py), `in place` (by what
    it writes), `static` (sizes, which no graph holds), `refused` with its reason, or `missing`."""

    kind: str
    reason: str = ""


def core_operators() -> list[torch._ops.OpOverload]:
    """All overloads of ATen that torch tags as core, by name."""
    names = (name.removeprefix("aten::").partition(".") for name in torch._C._dispatch_get_all_op_names())
    packets = ((getattr(torch.ops.aten, base, None), overload or "default") for base, _, overload in names)
    overloads = {getattr(packet, overload) for packet, overload in packets if hasattr(packet, overload)}
    return sorted((op for op in overloads if torch.Tag.core in op.tags), key=name_of)


def name_of(target: torch._ops.OpOverload) -> str:
    return str(target).removeprefix("aten.")


def support_of(target: torch._ops.OpOverload) -> Support:
    name = name_of(target)
    if (reason := {**BY_VALUE, **REFUSED}.get(name)) is not None:
        return Support("refused", reason)
    if name in TABLE or name in COMPLEX:
        return Support("emitter")
    if name.startswith("sym_"):
        return Support("static")
    if target._schema.is_mutable:
        twin = twin_of(target)
        return Support("in place" if twin is not None and support_of(twin).kind != "missing" else "missing")
    if defined(target) is not None:
        return Support("hone")
    return Support("missing" if definition_of(target) is None else "torch")
