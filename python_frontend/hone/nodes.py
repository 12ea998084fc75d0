"""What a node of the captured graph says: its arguments by name, its types, and its place in the program."""

from __future__ import annotations

from typing import Sequence

import torch
from torch.fx import Node

from .aten.complex import COMPLEX_TYPE, Complex
from .capture import local_name
from .errors import HoneError
from .graph import Location, Type
from .source import frames_of, user_frame

DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int8: "i8",
    torch.bool: "i1",
}

# Arguments of ATen overloads that say nothing about values.
_PLACEMENT = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "generator", "requires_grad"}


def type_of(tensor: torch.Tensor, what: str) -> Type:
    if tensor.dtype not in DTYPES:
        raise HoneError(f"{what}: element type {tensor.dtype} is not supported, only {', '.join(map(str, DTYPES))}")
    if not all(isinstance(size, int) for size in tensor.shape):
        raise HoneError(f"{what}: shape {tuple(tensor.shape)} is not static")
    return Type(DTYPES[tensor.dtype], tuple(tensor.shape))


def is_complex_node(node: Node, bound: dict) -> bool:
    """Whether a node takes or makes complex tensors."""
    made = (x for x in flat(node.meta.get("val")) if isinstance(x, torch.Tensor))
    return any(x.is_complex() for x in made) or any(isinstance(x, Complex) for x in flat(list(bound.values())))


def bind(schema, args: Sequence, kwargs: dict) -> dict:
    """Arguments by schema name: given ones only, element types as strings, placement dropped."""
    bound = dict(zip((a.name for a in schema.arguments), args)) | dict(kwargs)
    optional = {a.name for a in schema.arguments if a.has_default_value() and a.default_value is None}
    result = {}
    for name, value in bound.items():
        if name in _PLACEMENT or value is None and name in optional:
            continue
        if isinstance(value, torch.dtype):
            if value not in DTYPES and not value.is_complex:
                raise HoneError(f"element type {value} is not supported")
            value = DTYPES.get(value, COMPLEX_TYPE)
        result[name] = value
    return result


def functional_twin(node: Node) -> tuple[torch._ops.OpOverload, Node]:
    """The overload that computes what a mutating one writes, and the node it writes to."""
    schema, twin = node.target._schema, twin_of(node.target)
    if twin is None:
        raise HoneError(f"operator {node.target} is not supported")
    written = _written(schema)[0]
    place = schema.arguments.index(written)
    return twin, node.args[place] if place < len(node.args) else node.kwargs[written.name]


def twin_of(target: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """The overload that computes what a mutating one writes, from the same arguments."""
    schema, written = target._schema, _written(target._schema)
    base, overload = str(target).removeprefix("aten.").split(".")
    is_in_place = base.endswith("_") and not base.startswith("__")
    if len(written) == 1 and (written[0].name == "out" or is_in_place):
        rest = [a.name for a in schema.arguments if a.name != "out"]
        twins = (base[:-1], f"{base[:-1]}_functional") if is_in_place else (base,)
        for packet in (getattr(torch.ops.aten, twin) for twin in twins if hasattr(torch.ops.aten, twin)):
            for name in (name for name in (overload, *packet.overloads()) if hasattr(packet, name)):
                named = [a.name for a in getattr(packet, name)._schema.arguments]
                named = rest[:1] + named[1:] if is_in_place else named  # `self` or `input`
                if [name for name in named if name in rest or name == "out"] == rest:
                    return getattr(packet, name)
    return None


def _written(schema) -> list:
    return [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def flat(value) -> list:
    return [x for item in value for x in flat(item)] if isinstance(value, (list, tuple)) else [value]


def name_of(node: Node) -> str:
    return (
        str(node.target)
        if not callable(node.target) or hasattr(node.target, "_schema")
        else getattr(node.target, "__name__", str(node.target))
    )


def location_of(node: Node) -> Location:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    module = local_name(stack[-1][0]) if stack else ""
    file, line = user_frame(frames_of(node.meta.get("stack_trace"))) or ("", 0)
    return Location(module, file, line)


def placed_at(node: Node, message: str) -> str:
    """`message` with where in the user's program it belongs."""
    location = location_of(node)
    place = f"{location.file}:{location.line}: " if location.file else ""
    within = f" (in module '{location.module}')" if location.module else ""
    return f"{place}{message}{within}"
