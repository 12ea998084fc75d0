"""Prints a graph as MLIR text: hone ops in generic form, floats as short as they stay exact. Standard library only."""

from __future__ import annotations

import math
import re
import struct
from typing import Callable, Sequence

from .graph import Argument, Attribute, Dense, Enum, Graph, Location, Op, Result, Segments, Type, Value

VERSION = 2  # of the dialect; the reader refuses a newer one

_FLOAT_BITS = {"f64": ("<d", "<Q", 16), "f32": ("<f", "<I", 8), "f16": ("<e", "<H", 4)}


def emit(graph: Graph) -> str:
    """The module text of `graph`."""
    locations = _Locations()
    name = _naming(graph.arguments)
    arguments = ",\n    ".join(_argument(argument, name) for argument in graph.arguments)
    body = "".join(f"    {_op(op, locations, name)}\n" for op in graph.ops)
    module: dict = {"hone.version": VERSION, "hone.model": graph.model}
    if graph.function == "step":
        module["hone.whole_step"] = True
    if graph.optimizer is not None:
        module["hone.optimizer"] = graph.optimizer
    results = graph.results
    declared = ", ".join(f"{result.value.type} {_dictionary(_described(result))}" for result in results)
    returned = tuple(result.value for result in results)
    return (
        f"module attributes {_dictionary(module)} {{\n"
        f"  func.func @{graph.function}(\n    {arguments}\n"
        f"  ) -> ({declared}) {{\n{body}"
        f'    "func.return"({_names(returned, name)}) : ({_types(returned)}) -> ()\n  }}\n}}\n' + locations.text()
    )


def _described(result: Result) -> dict:
    attributes: dict = {"hone.kind": result.kind}
    if result.fqn:
        attributes["hone.fqn"] = result.fqn
    if result.donates is not None:
        attributes["hone.donates"] = result.donates
    return attributes


Naming = Callable[[Value], str]


def _naming(arguments: Sequence[Argument]) -> Naming:
    """Arguments have the names of their tensors, as far as MLIR takes these, other values their numbers."""
    names: dict[int, str] = {}
    for argument in arguments:
        name = re.sub(r"[^A-Za-z0-9$._-]", "_", argument.fqn)
        name = name if re.match(r"[^0-9]", name) else f"_{name}"
        while name in names.values():
            name += "_"
        names[argument.value.id] = name
    return lambda value: "%" + names.get(value.id, str(value.id))


def _argument(argument: Argument, name: Naming) -> str:
    attributes: dict = {"hone.kind": argument.kind, "hone.fqn": argument.fqn}
    if argument.aliases:
        attributes["hone.aliases"] = list(argument.aliases)
    if argument.requires_grad:
        attributes["hone.requires_grad"] = True
    for key in ("param_group", "init", "role", "vocab", "balance"):
        if (fact := getattr(argument, key)) is not None:
            attributes["hone." + key] = fact
    return f"{name(argument.value)}: {argument.value.type} {_dictionary(attributes)}"


def _op(op: Op, locations: _Locations, name: Naming) -> str:
    """The text of an op, behind which its location stands."""
    results = _names(op.results, name)
    # Attribute names in order, as the dialect prints them.
    inherent = ", ".join(_named(name, _attribute(value)) for name, value in sorted(op.attributes))
    properties = f" <{{{inherent}}}>" if inherent else ""
    outputs = _types(op.results)
    if len(op.results) != 1:
        outputs = f"({outputs})"
    body = f" ({_body(op, locations)})" if op.body else ""
    operands = _names(op.operands, name)
    signature = f"({_types(op.operands)}) -> {outputs}"
    location = locations.alias(op.location)
    return f'{results} = "hone.{op.name}"({operands}){properties}{body} : {signature} loc({location})'


def _body(op: Op, locations: _Locations) -> str:
    number = op.results[0].id
    name = lambda value: f"%b{number}_{value.id}"
    arguments = ", ".join(f"{name(value)}: {value.type}" for value in op.body.arguments)
    lines = "".join(f"      {_op(inner, locations, name)}\n" for inner in op.body.ops)
    results = op.body.results
    end = f'"hone.yield"({_names(results, name)}) : ({_types(results)}) -> ()'
    return f"{{\n    ^bb0({arguments}):\n{lines}      {end}\n    }}"


def _names(values: tuple[Value, ...], name: Naming) -> str:
    return ", ".join(map(name, values))


def _types(values: tuple[Value, ...]) -> str:
    return ", ".join(str(value.type) for value in values)


def _named(name: str, text: str) -> str:
    return name if text == "unit" else f"{name} = {text}"


def _attribute(value: Attribute) -> str:
    """The text of an op's attribute."""
    if value is True:
        return "unit"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{float_text(value, 'f64')} : f64"
    if isinstance(value, tuple):
        return _array("i64", value)
    if isinstance(value, Segments):
        return _array("i32", value.sizes)
    if isinstance(value, Enum):
        return f"#hone<{value.kind} {value.case}>"
    if isinstance(value, Dense):
        return dense(value)
    raise TypeError(f"no attribute form for {type(value).__name__}")


def _array(element: str, values: tuple[int, ...]) -> str:
    return f"array<{element}" + (": " + ", ".join(map(str, values)) if values else "") + ">"


def _dictionary(attributes: dict) -> str:
    return "{" + ", ".join(_named(name, _plain(value)) for name, value in attributes.items()) + "}"


def _plain(value) -> str:
    """The text of an attribute outside ops: strings, lists and dictionaries are MLIR's own."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return _dictionary(value)
    if isinstance(value, list):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return _attribute(value)


def quote(text: str) -> str:
    """An MLIR string literal; anything but printable ASCII is escaped byte by byte."""
    plain = lambda byte: 32 <= byte < 127 and byte not in b'"\\'
    return '"' + "".join(chr(byte) if plain(byte) else f"\\{byte:02X}" for byte in text.encode()) + '"'


def float_text(value: float, dtype: str) -> str:
    """The fewest decimal digits that MLIR reads as `value` rounded to `dtype`; infinities and NaN in hexadecimal.

    MLIR reads decimal digits as a double and rounds that, to nearest even, as `float_bits` does.
    """
    bits = float_bits(value, dtype)
    if not math.isfinite(value) or bits in (float_bits(math.inf, dtype), float_bits(-math.inf, dtype)):
        return bits
    if dtype == "bf16":  # which `float_bits` rounds by way of f32
        return _decimal(repr(struct.unpack("<f", struct.pack("<I", int(bits, 16) << 16))[0]))
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    return next(_decimal(text) for text in texts if float_bits(float(text), dtype) == bits)


def _decimal(text: str) -> str:
    """`text` as MLIR writes numbers, which have a point: 1e-05 is 1.0e-05."""
    mantissa, *exponent = text.split("e")
    return "e".join([mantissa if "." in mantissa else mantissa + ".0", *exponent])


def float_bits(value: float, dtype: str) -> str:
    """The bits of `value`, rounded to nearest even in `dtype`, in hexadecimal: exact, infinities and NaN included."""
    if dtype == "bf16":
        bits = int(float_bits(value, "f32"), 16)
        if value != value:
            return f"0x{bits >> 16 | 0x40:04X}"
        return f"0x{bits + 0x7FFF + (bits >> 16 & 1) >> 16:04X}"
    pack, unpack, digits = _FLOAT_BITS[dtype]
    try:
        data = struct.pack(pack, value)
    except OverflowError:  # beyond the largest finite number: infinity, as a cast gives
        data = struct.pack(pack, float("inf") if value > 0 else float("-inf"))
    return f"0x{struct.unpack(unpack, data)[0]:0{digits}X}"


def dense(constant: Dense) -> str:
    """`dense<...> : type`; a single element stands for all."""
    type, values = constant.type, constant.values
    if type.numel == 0:
        return f"dense<> : {type}"
    texts = [_element(value, type.dtype) for value in values]
    if len(set(texts)) == 1:
        return f"dense<{texts[0]}> : {type}"
    for size in reversed(type.shape):
        texts = ["[" + ", ".join(texts[i : i + size]) + "]" for i in range(0, len(texts), size)]
    return f"dense<{texts[0]}> : {type}"


def _element(value, dtype: str) -> str:
    if dtype == "i1":
        return "true" if value else "false"
    return str(int(value)) if dtype.startswith("i") else float_text(float(value), dtype)


class _Locations:
    """Numbers source locations in order of first use; printed once, at the end of the file."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def alias(self, location: Location) -> str:
        if location == Location():
            return "unknown"
        text = f"{quote(location.file)}:{location.line}:0" if location.file else "unknown"
        if location.file and location.module:
            text = f"{quote(location.module)}({self._number(text)})"
        elif location.module:
            text = quote(location.module)
        return self._number(text)

    def _number(self, text: str) -> str:
        return f"#loc{self._numbers.setdefault(text, len(self._numbers) + 1)}"

    def text(self) -> str:
        return "".join(f"#loc{number} = loc({text})\n" for text, number in self._numbers.items())
