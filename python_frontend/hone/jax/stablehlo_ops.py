"""The table from op of StableHLO to the functions of jax.lax that are lowered to it.

An entry takes the op and its operands, known ones as NumPy arrays, and returns a function of JAX arrays.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ..errors import HoneError

_DTYPES = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16", "i1": "bool", "i8": "int8",
           "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32",
           "ui64": "uint64"}

IDENTITIES = {"stablehlo.optimization_barrier", "sdy.sharding_constraint"}

REFUSED = {
    "stablehlo.rng_bit_generator": "draws random bits, which is not supported; expected keys of threefry, the default "
                                   "(jax_default_prng_impl)",
    "stablehlo.rng": "draws random numbers without a key, which is not supported; expected jax.random's functions",
} | {f"stablehlo.{name}": "has a size that the data decides; expected fixed shapes"
     for name in ("dynamic_reshape", "dynamic_broadcast_in_dim", "dynamic_iota", "dynamic_pad", "dynamic_gather",
                  "dynamic_conv", "real_dynamic_slice", "get_dimension_size", "set_dimension_size")}

Translated = Callable[..., Any]
TABLE: dict[str, Callable[[Any, Sequence[Any]], Translated]] = {}


def translates(*names: str) -> Callable:
    def register(function: Callable) -> Callable:
        TABLE.update((name if "." in name else f"stablehlo.{name}", function) for name in names)
        return function

    return register


def described(type: Any) -> jax.ShapeDtypeStruct:
    """The shape and element type of a tensor."""
    dtype = _DTYPES.get(str(type.element_type)) if isinstance(type, ir.RankedTensorType) else None
    if dtype is None or not type.has_static_shape:
        raise HoneError(f"type {type} is not supported, expected a tensor of fixed shape of {', '.join(_DTYPES)}")
    return jax.ShapeDtypeStruct(tuple(type.shape), jnp.dtype(dtype))


def constant_of(op: Any) -> np.ndarray:
    """The value of a stablehlo.constant; that of a splat takes one element."""
    type, attribute = described(op.results[0].type), op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr):
        raise HoneError("a constant in a resource is not supported; expected its elements in the module")
    if attribute.is_splat:
        value = attribute.get_splat_value()
        number = int(value.value) if type.dtype.kind in "iu" else value.value
        return np.broadcast_to(np.asarray(number, type.dtype), type.shape)
    if type.dtype == jnp.bfloat16:  # no buffer holds it
        return _bfloats(str(attribute)).reshape(type.shape)
    return np.array(attribute).astype(type.dtype).reshape(type.shape)


def _bfloats(text: str) -> np.ndarray:
    """The elements of a constant of bf16 that is no splat, from its text: numbers, and bits of those that are none."""
    inside = text[text.index("<") + 1 : text.rindex("> : ")]
    if inside.startswith('"'):
        return np.frombuffer(bytes.fromhex(inside.strip('"').removeprefix("0x")), np.uint16).view(jnp.bfloat16)
    number = lambda word: np.uint16(int(word, 16)).view(jnp.bfloat16) if word[:2] == "0x" else jnp.bfloat16(word)
    return np.asarray([number(word) for word in re.findall(r"[^\s,\[\]]+", inside)], jnp.bfloat16)


# -- attributes ---------------------------------------------------------------------------------------------------


def _ints(op: Any, name: str, default: Sequence[int] | None = None) -> list[int]:
    if name not in op.attributes:
        assert default is not None, name
        return list(default)
    attribute = op.attributes[name]
    if isinstance(attribute, ir.DenseElementsAttr):
        return [int(x) for x in np.array(attribute).ravel()]
    return [int(x) for x in attribute]


def _int(op: Any, name: str) -> int:
    return int(op.attributes[name].value)


def _word(attribute: Any) -> str:
    """LT of #stablehlo<comparison_direction LT>."""
    return str(attribute).rstrip(">").split()[-1]


def _result(op: Any, number: int = 0) -> jax.ShapeDtypeStruct:
    return described(op.results[number].type)


def _combiner(op: Any, region: int = 0) -> str:
    """The op that a region combines its arguments by; "second" where it returns the second one."""
    block = op.regions[region].blocks[0]
    ops = [x.operation for x in block.operations]
    if len(ops) == 1 and list(ops[0].operands) == [block.arguments[1]]:
        return "second"
    if len(ops) == 2 and sorted(map(str, ops[0].operands)) == sorted(map(str, block.arguments)):
        return ops[0].name
    return ""


# -- elementwise --------------------------------------------------------------------------------------------------


def _plain(function: Callable, *names: str) -> None:
    translates(*names)(lambda op, xs: function)


for _names, _made in {
    "abs": lax.abs, "cbrt": lax.cbrt, "ceil": lax.ceil, "floor": lax.floor, "cosine": lax.cos, "sine": lax.sin,
    "exponential": lax.exp, "exponential_minus_one": lax.expm1, "log": lax.log, "log_plus_one": lax.log1p,
    "logistic": lax.logistic, "negate": lax.neg, "not": lax.bitwise_not, "rsqrt": lax.rsqrt, "sqrt": lax.sqrt,
    "sign": lax.sign, "tanh chlo.tanh": lax.tanh, "tan chlo.tan": lax.tan, "is_finite": lax.is_finite,
    "popcnt": lax.population_count, "count_leading_zeros": lax.clz,
    "chlo.erf": lax.erf, "chlo.erfc": lax.erfc, "chlo.erf_inv": lax.erf_inv, "chlo.lgamma": lax.lgamma,
    "chlo.digamma": lax.digamma, "chlo.sinh": lax.sinh, "chlo.cosh": lax.cosh, "chlo.asin": lax.asin,
    "chlo.acos": lax.acos, "chlo.atan": lax.atan, "chlo.asinh": lax.asinh, "chlo.acosh": lax.acosh,
    "chlo.atanh": lax.atanh, "chlo.square": lax.square,
    "subtract": lax.sub, "divide": lax.div, "maximum": lax.max, "minimum": lax.min, "power": lax.pow,
    "remainder": lax.rem, "and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor, "atan2": lax.atan2,
    "shift_left": lax.shift_left, "shift_right_logical": lax.shift_right_logical,
    "shift_right_arithmetic": lax.shift_right_arithmetic,
    "select": lax.select, "clamp": lax.clamp,
}.items():
    _plain(_made, *_names.split())

_plain(lambda x, y: lax.bitwise_xor(x, y) if x.dtype == bool else lax.add(x, y), "add")
_plain(lambda x, y: lax.bitwise_and(x, y) if x.dtype == bool else lax.mul(x, y), "multiply")
_plain(lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), "round_nearest_even")
_plain(lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), "round_nearest_afz")


@translates("compare")
def compare(op: Any, xs: Sequence[Any]) -> Translated:
    return getattr(lax, _word(op.attributes["comparison_direction"]).lower())


@translates("convert")
def convert(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.convert_element_type(x, _result(op).dtype)


@translates("bitcast_convert")
def bitcast_convert(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.bitcast_convert_type(x, _result(op).dtype)


@translates("reduce_precision")
def reduce_precision(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.reduce_precision(x, _int(op, "exponent_bits"), _int(op, "mantissa_bits"))


# -- shape --------------------------------------------------------------------------------------------------------


@translates("iota")
def iota(op: Any, xs: Sequence[Any]) -> Translated:
    type = _result(op)
    return lambda: lax.broadcasted_iota(type.dtype, type.shape, _int(op, "iota_dimension"))


@translates("broadcast_in_dim")
def broadcast_in_dim(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.broadcast_in_dim(x, _result(op).shape, _ints(op, "broadcast_dimensions"))


@translates("reshape")
def reshape(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.reshape(x, _result(op).shape)


@translates("transpose")
def transpose(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.transpose(x, _ints(op, "permutation"))


@translates("concatenate")
def concatenate(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda *parts: lax.concatenate(parts, _int(op, "dimension"))


@translates("slice")
def slice_(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.slice(x, _ints(op, "start_indices"), _ints(op, "limit_indices"), _ints(op, "strides"))


@translates("reverse")
def reverse(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.rev(x, _ints(op, "dimensions"))


@translates("pad")
def pad(op: Any, xs: Sequence[Any]) -> Translated:
    config = [*zip(*(_ints(op, f"{part}") for part in ("edge_padding_low", "edge_padding_high", "interior_padding")))]
    return lambda x, filling: lax.pad(x, filling, config)


@translates("dynamic_slice")
def dynamic_slice(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x, *starts: lax.dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(_ints(op, "slice_sizes")))


@translates("dynamic_update_slice")
def dynamic_update_slice(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x, update, *starts: lax.dynamic_update_slice_p.bind(x, update, *starts)


# -- products and windows -----------------------------------------------------------------------------------------


@translates("dot_general")
def dot_general(op: Any, xs: Sequence[Any]) -> Translated:
    d = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    contract = (list(d.lhs_contracting_dimensions), list(d.rhs_contracting_dimensions))
    batch = (list(d.lhs_batching_dimensions), list(d.rhs_batching_dimensions))
    return lambda x, y: lax.dot_general(x, y, (contract, batch), preferred_element_type=_result(op).dtype)


def _pairs(op: Any, name: str, count: int) -> list[tuple[int, int]]:
    flat = _ints(op, name, [0] * (2 * count))
    return list(zip(flat[::2], flat[1::2]))


@translates("convolution")
def convolution(op: Any, xs: Sequence[Any]) -> Translated:
    d = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    if "window_reversal" in op.attributes and any(op.attributes["window_reversal"]):
        raise HoneError("window_reversal is not supported; expected none")
    spec = lax.ConvDimensionNumbers(
        (d.input_batch_dimension, d.input_feature_dimension, *d.input_spatial_dimensions),
        (d.kernel_output_feature_dimension, d.kernel_input_feature_dimension, *d.kernel_spatial_dimensions),
        (d.output_batch_dimension, d.output_feature_dimension, *d.output_spatial_dimensions),
    )
    ones = [1] * len(spec.lhs_spec[2:])
    return lambda x, kernel: lax.conv_general_dilated(
        x, kernel, _ints(op, "window_strides", ones), _pairs(op, "padding", len(ones)), _ints(op, "lhs_dilation", ones),
        _ints(op, "rhs_dilation", ones), spec, _int(op, "feature_group_count"), _int(op, "batch_group_count"),
        preferred_element_type=_result(op).dtype,
    )


_MONOIDS = {"stablehlo.add": lax.add, "stablehlo.multiply": lax.mul, "stablehlo.maximum": lax.max,
            "stablehlo.minimum": lax.min, "stablehlo.and": lax.bitwise_and, "stablehlo.or": lax.bitwise_or}


def _monoid(op: Any, xs: Sequence[Any]) -> tuple[Callable, Any]:
    """What a reduction combines by, and from where on."""
    function, start = _MONOIDS.get(_combiner(op)), xs[1]
    if function is None or not isinstance(start, np.ndarray):
        raise HoneError("reduces by a function of its own, which is not supported; expected sums, products, extremes, "
                        "all or any, from a constant on")
    return function, np.asarray(start)


@translates("reduce")
def reduce(op: Any, xs: Sequence[Any]) -> Translated:
    dims = _ints(op, "dimensions")
    if len(op.results) == 2:
        return _arg_extreme(op, dims)
    function, start = _monoid(op, xs)
    return lambda x, _: lax.reduce(x, start, function, dims)


def _arg_extreme(op: Any, dims: list[int]) -> Translated:
    """The largest or smallest element and its place, which jnp.argmax reduces pairs for."""
    body = [x.operation for x in op.regions[0].blocks[0].operations]
    directions = [_word(x.attributes["comparison_direction"]) for x in body if x.name == "stablehlo.compare"]
    place = op.operands[1].owner
    is_iota = getattr(place, "name", "") == "stablehlo.iota" and _int(place, "iota_dimension") == dims[0]
    if not directions or directions[0] not in ("GT", "GE", "LT", "LE") or not is_iota or len(dims) != 1:
        raise HoneError("reduces several arrays together, which is supported for argmax and argmin alone")
    largest = directions[0] in ("GT", "GE")
    extreme, found = (lax.reduce_max, lax.argmax) if largest else (lax.reduce_min, lax.argmin)
    return lambda x, *_: (extreme(x, dims), found(x, dims[0], _result(op, 1).dtype))


@translates("reduce_window")
def reduce_window(op: Any, xs: Sequence[Any]) -> Translated:
    if len(op.results) != 1:
        raise HoneError("reduces several arrays together, which is not supported; expected one")
    function, start = _monoid(op, xs)
    sizes = _ints(op, "window_dimensions")
    ones = [1] * len(sizes)
    facts = (sizes, _ints(op, "window_strides", ones), _pairs(op, "padding", len(sizes)),
             _ints(op, "base_dilations", ones), _ints(op, "window_dilations", ones))
    return lambda x, _: lax.reduce_window(x, start, function, *facts)


@translates("select_and_scatter")
def select_and_scatter(op: Any, xs: Sequence[Any]) -> Translated:
    """The gradient of a maximum over windows."""
    is_largest = any(_word(x.operation.attributes["comparison_direction"]) == "GE"
                     for x in op.regions[0].blocks[0].operations if x.operation.name == "stablehlo.compare")
    if not is_largest or _combiner(op, 1) != "stablehlo.add":
        raise HoneError("selects or adds by a function of its own, which is not supported; expected max-pooling's")
    sizes = tuple(_ints(op, "window_dimensions"))
    facts = {"window_dimensions": sizes, "window_strides": tuple(_ints(op, "window_strides", [1] * len(sizes))),
             "padding": tuple(_pairs(op, "padding", len(sizes)))}
    return lambda x, source, _: lax.select_and_scatter_add_p.bind(source, x, select_prim=lax.ge_p, **facts)


# -- places that arrays give, order -------------------------------------------------------------------------------


def _indices_last(ids: Any, place: int) -> Any:
    """Indices with the vector of one place last, as lax has them."""
    return lax.expand_dims(ids, [ids.ndim]) if place == ids.ndim else jnp.moveaxis(ids, place, -1)


@translates("gather")
def gather(op: Any, xs: Sequence[Any]) -> Translated:
    d = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    numbers = lax.GatherDimensionNumbers(
        tuple(d.offset_dims), tuple(d.collapsed_slice_dims), tuple(d.start_index_map), tuple(d.operand_batching_dims),
        tuple(d.start_indices_batching_dims),
    )
    return lambda x, ids: lax.gather(
        x, _indices_last(ids, d.index_vector_dim), numbers, _ints(op, "slice_sizes"),
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )


_SCATTERS = {"stablehlo.add": lax.scatter_add, "stablehlo.multiply": lax.scatter_mul, "second": lax.scatter,
             "stablehlo.maximum": lax.scatter_max, "stablehlo.minimum": lax.scatter_min}


@translates("scatter")
def scatter(op: Any, xs: Sequence[Any]) -> Translated:
    d = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    numbers = lax.ScatterDimensionNumbers(
        tuple(d.update_window_dims), tuple(d.inserted_window_dims), tuple(d.scattered_dims_to_operand_dims),
        tuple(d.input_batching_dims), tuple(d.scatter_indices_batching_dims),
    )
    function = _SCATTERS.get(_combiner(op)) if len(op.results) == 1 else None
    if function is None:
        raise HoneError("writes by a function of its own, which is not supported; expected sums or the last update")
    return lambda x, ids, updates: function(
        x, _indices_last(ids, d.index_vector_dim), updates, numbers, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS
    )


@translates("sort")
def sort(op: Any, xs: Sequence[Any]) -> Translated:
    block = op.regions[0].blocks[0]
    ops = [x.operation for x in block.operations]
    read = {str(x) for one in ops for x in one.operands}
    keys = sum(str(x) in read for x in block.arguments) // 2
    last = [_word(x.attributes["comparison_direction"]) for x in ops if x.name == "stablehlo.compare"][-1:]
    if last != ["LT"]:
        raise HoneError("sorts by an order of its own, which is not supported; expected the smallest first")
    return lambda *arrays: lax.sort(arrays, dimension=_int(op, "dimension"), num_keys=keys)


@translates("chlo.top_k")
def top_k(op: Any, xs: Sequence[Any]) -> Translated:
    return lambda x: lax.top_k(x, _int(op, "k"))


@translates("custom_call")
def custom_call(op: Any, xs: Sequence[Any]) -> Translated:
    target = op.attributes["call_target_name"].value
    if target in ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"):
        return lambda *arrays: arrays
    raise HoneError(f"calls @{target}, which is not supported; expected the step to do without it")
