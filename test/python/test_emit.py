"""The printed text: floats, strings, constants, attributes, locations. Needs no torch."""

from __future__ import annotations

import math
import os
import random
import struct
import subprocess

import pytest
from conftest import HONE_OPT
from hone.builder import Builder, broadcast_shape
from hone.emit import dense, emit, float_bits, float_text, quote
from hone.errors import HoneError
from hone.graph import Dense, Graph, Location, Type, values_with_gradient


@pytest.mark.parametrize(
    "value, dtype, bits",
    [
        (1.0, "f64", "0x3FF0000000000000"),
        (1e-5, "f64", "0x3EE4F8B588E368F1"),
        (0.1, "f32", "0x3DCCCCCD"),
        (-0.0, "f32", "0x80000000"),
        (float("inf"), "f32", "0x7F800000"),
        (float("-inf"), "bf16", "0xFF80"),
        (1e39, "f32", "0x7F800000"),
        (-1e39, "f32", "0xFF800000"),
        (1.0, "f16", "0x3C00"),
        (65536.0, "f16", "0x7C00"),
        (1.0, "bf16", "0x3F80"),
        (1.00390625, "bf16", "0x3F80"),
        (1.01171875, "bf16", "0x3F82"),
        (1e-45, "f32", "0x00000001"),
    ],
)
def test_float_bits_round_to_nearest_even(value: float, dtype: str, bits: str) -> None:
    assert float_bits(value, dtype) == bits


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_nan_stays_nan(dtype: str) -> None:
    mantissa, exponent = {"f64": (52, 0x7FF), "f32": (23, 0xFF), "f16": (10, 0x1F), "bf16": (7, 0xFF)}[dtype]
    bits = int(float_bits(math.nan, dtype), 16)
    assert bits >> mantissa & exponent == exponent and bits & (1 << mantissa) - 1


def test_double_bits_are_exact() -> None:
    for value in (0.1, math.pi, 2.0**-1074, 1.7976931348623157e308):
        assert struct.unpack(">d", bytes.fromhex(float_bits(value, "f64")[2:]))[0] == value


@pytest.mark.parametrize(
    "value, dtype, text",
    [
        (1e-3, "f64", "0.001"),
        (1e-5, "f64", "1.0e-05"),
        (2.0, "f64", "2.0"),
        (1e22, "f64", "1.0e+22"),
        (0.1, "f32", "0.1"),
        (-0.0, "f32", "-0.0"),
        (1 / 3, "f32", "0.33333333"),
        (1e-45, "f32", "1.0e-45"),
        (0.1, "bf16", "0.10009765625"),
        (0.1, "f16", "0.1"),
        (math.inf, "f64", "0x7FF0000000000000"),
        (1e39, "f32", "0x7F800000"),
    ],
)
def test_float_text(value: float, dtype: str, text: str) -> None:
    assert float_text(value, dtype) == text


@pytest.mark.parametrize("dtype, count", [("f64", 64), ("f32", 32), ("f16", 16), ("bf16", 16)])
def test_mlir_reads_decimal_floats_exactly(dtype: str, count: int, tmp_path) -> None:
    if not os.path.exists(HONE_OPT):
        pytest.skip("hone-opt is not built")
    digits = count // 4
    patterns = random.Random(1).sample(range(1 << 16), 2000)
    numbers = [pattern << (count - 16) | pattern * 0x9E3779B9 & (1 << (count - 16)) - 1 for pattern in patterns]
    values = [value for value in (_value(number, dtype) for number in numbers) if math.isfinite(value)]
    type = f"tensor<{len(values)}x{dtype}>"
    texts = (
        ", ".join(float_text(value, dtype) for value in values),
        ", ".join(f"0x{int(float_bits(value, dtype), 16):0{digits}X}" for value in values),
    )
    attributes = [f"<{{value = dense<[{text}]> : {type}}}>" for text in texts]
    constants = "".join(f'  "hone.constant"() {attribute} : () -> {type}\n' for attribute in attributes)
    path = tmp_path / "floats.mlir"
    path.write_text(f"func.func @f() {{\n{constants}  return\n}}\n")
    printed = subprocess.run([HONE_OPT, path], capture_output=True, text=True, check=True).stdout
    first, second = (line.partition("dense<")[2] for line in printed.splitlines() if "dense<" in line)
    assert first == second and len(first) > 2000


def _value(bits: int, dtype: str) -> float:
    if dtype == "bf16":
        bits, dtype = bits << 16, "f32"
    unpack, pack = {"f64": ("<d", "<Q"), "f32": ("<f", "<I"), "f16": ("<e", "<H")}[dtype]
    return struct.unpack(unpack, struct.pack(pack, bits))[0]


@pytest.mark.parametrize(
    "text, literal",
    [
        ("plain.name", '"plain.name"'),
        ('a"b\\c', '"a\\22b\\5Cc"'),
        ("é\n", '"\\C3\\A9\\0A"'),
        ("", '""'),
    ],
)
def test_strings_are_escaped(text: str, literal: str) -> None:
    assert quote(text) == literal


@pytest.mark.parametrize(
    "values, type, text",
    [
        ((2.0,), Type("f32", (3, 5)), "dense<2.0> : tensor<3x5xf32>"),
        ((-100,), Type("i64", ()), "dense<-100> : tensor<i64>"),
        ((True, False, True), Type("i1", (3,)), "dense<[true, false, true]> : tensor<3xi1>"),
        ((1, 2, 3, 4, 5, 6), Type("i32", (2, 3)), "dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>"),
        ((7, 7, 7, 7), Type("i64", (2, 2)), "dense<7> : tensor<2x2xi64>"),
        ((), Type("f32", (0, 3)), "dense<> : tensor<0x3xf32>"),
    ],
)
def test_constants(values: tuple, type: Type, text: str) -> None:
    assert dense(Dense(type, values)) == text


def small_graph() -> Graph:
    b = Builder()
    w = b.argument(
        Type("f32", (61, 8)),
        "param",
        "wte.weight",
        aliases=("head.weight",),
        requires_grad=True,
        param_group=0,
        init={"dist": "normal", "mean": 0.0, "std": 0.02},
    )
    ids = b.argument(Type("i64", (2, 5)), "input", "tokens", role="tokens", vocab=61)
    b.location = Location("wte", "model.py", 12)
    x = b.embedding(w, ids)
    b.location = Location("", "model.py", 13)
    x = b.binary("add", x, b.constant(range(8), Type("f32", (8,))))
    loss = b.reduce("sum", x, range(3))
    optimizer = {"name": "sgd", "lr": 0.5, "nesterov": True, "groups": [{"lr_scale": 1.0}]}
    return Graph('odd "name"', tuple(b.arguments), tuple(b.ops), loss, optimizer)


def test_module_text(verified) -> None:
    text = emit(small_graph())
    assert text.splitlines() == [
        'module attributes {hone.version = 2 : i64, hone.model = "odd \\22name\\22", hone.optimizer = {name = "sgd", '
        "lr = 0.5 : f64, nesterov, groups = [{lr_scale = 1.0 : f64}]}} {",
        "  func.func @forward(",
        '    %wte.weight: tensor<61x8xf32> {hone.kind = "param", hone.fqn = "wte.weight", hone.aliases = '
        '["head.weight"], '
        "hone.requires_grad, hone.param_group = 0 : i64, "
        'hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}},',
        '    %tokens: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "tokens", hone.role = "tokens", '
        "hone.vocab = 61 : i64}",
        '  ) -> (tensor<f32> {hone.kind = "loss"}) {',
        '    %2 = "hone.embedding"(%wte.weight, %tokens) : (tensor<61x8xf32>, tensor<2x5xi64>) -> '
        "tensor<2x5x8xf32> loc(#loc2)",
        '    %3 = "hone.constant"() <{value = dense<[0.0, 1.0, 2.0, 3.0, 4.0, '
        "5.0, 6.0, 7.0]> : tensor<8xf32>}> : () -> tensor<8xf32> loc(#loc3)",
        '    %4 = "hone.broadcast"(%3) <{dims = array<i64: 2>}> : (tensor<8xf32>) -> tensor<2x5x8xf32> loc(#loc3)',
        '    %5 = "hone.add"(%2, %4) : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc(#loc3)',
        '    %6 = "hone.reduce"(%5) <{dims = array<i64: 0, 1, 2>, kind = #hone<reduce sum>}> : (tensor<2x5x8xf32>) -> '
        "tensor<f32> loc(#loc3)",
        '    "func.return"(%6) : (tensor<f32>) -> ()',
        "  }",
        "}",
        '#loc1 = loc("model.py":12:0)',
        '#loc2 = loc("wte"(#loc1))',
        '#loc3 = loc("model.py":13:0)',
    ]
    verified(text)


def every_op() -> Graph:
    """A graph with each op the builder can make, over sizes 0 and 1 too."""
    b = Builder()
    x = b.argument(Type("f32", (2, 6, 4, 8)), "param", "x", requires_grad=True, init={"dist": "constant", "value": 1.0})
    parts = []
    keep = lambda value: parts.append(b.reduce("sum", b.cast(value, "f32"), range(value.rank)))
    for name in ("neg", "abs", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "logistic", "sign"):
        keep(b.unary(name, x))
    for name in ("add", "sub", "mul", "div", "max", "min", "pow"):
        keep(b.binary(name, x, b.splat(0.5, Type("f32", (1, 8)))))
    mask = b.compare("lt", x, b.splat(float("nan"), x.type))
    keep(b.select(b.binary("and", b.unary("not", mask), b.binary("or", mask, mask)), x, b.splat(float("-inf"), x.type)))
    keep(b.gelu(x, "erf"))
    keep(b.gelu(x, "tanh"))
    keep(b.stop_gradient(x))
    keep(b.dropout(x, 0.1))
    keep(b.random("normal", x.type))
    keep(b.transpose(b.pad(x, (0, 1, 0, 2), (0, 0, 3, 0)), (3, 1, 0, 2)))
    keep(b.concat([b.slice_dim(x, 1, 1, 6, 2), b.slice_dim(x, 1, 2, 2)], 1))
    for kind in ("sum", "max", "min"):
        keep(b.reduce(kind, x, (1, 3), keepdim=True))
    keep(b.argmax(x, 2))
    keep(b.cumsum(x, 1))
    keep(b.softmax(x))
    scale = b.splat(1.0, Type("f32", (8,)))
    for gain in (None, scale):
        keep(b.rms_norm(x, gain, 1e-6))
        for bias in (None, scale):
            keep(b.layer_norm(x, gain, bias, 1e-5))
    grouped = b.slice_dim(x, 2, 0, 2)
    for bias, causal, p in ((None, True, 0.0), (b.splat(0.0, Type("f32", (1, 4, 6, 6))), False, 0.25)):
        keep(b.attention(x, grouped, grouped, bias, causal, 0.125, p))
    logits, classes = b.reshape(x, (48, 8)), b.iota(0, Type("i64", (48,)))
    for reduction in ("none", "mean", "sum"):
        keep(b.cross_entropy(logits, classes, reduction, -100, 0.1))
    keep(b.embedding(logits, b.splat(3, Type("i32", ()))))
    keep(b.dot_general(x, grouped, ((0,), (0,)), ((3,), (3,))))
    keep(b.constant([], Type("i64", (0, 2))))
    keep(b.iota(1, Type("i1", (2, 2))))
    loss = parts[0]
    for part in parts[1:]:
        loss = b.binary("add", loss, part)
    return Graph("all", tuple(b.arguments), tuple(b.ops), loss)


def test_every_op_passes_the_dialect_verifier(verified) -> None:
    verified(emit(every_op()))


def test_broadcasting_reshapes_and_names_dimensions() -> None:
    b = Builder()
    y = b.broadcast_to(b.splat(1.0, Type("f32", (3, 1, 5))), (2, 3, 4, 5))
    reshape, broadcast = b.ops[1:]
    assert (reshape.name, reshape.results[0].shape) == ("reshape", (3, 5))
    assert (broadcast.name, broadcast.attribute("dims"), y.shape) == ("broadcast", (1, 3), (2, 3, 4, 5))


@pytest.mark.parametrize(
    "x, y, wanted",
    [
        ((2, 3), (3,), (2, 3)),
        ((1, 3), (2, 1), (2, 3)),
        ((), (4,), (4,)),
        ((0, 3), (1, 3), (0, 3)),
        ((1,), (0,), (0,)),
    ],
)
def test_broadcast_shape(x: tuple, y: tuple, wanted: tuple) -> None:
    assert broadcast_shape(x, y) == wanted


def test_shapes_that_do_not_fit_are_refused() -> None:
    b = Builder()
    x = b.splat(0.0, Type("f32", (2, 3)))
    with pytest.raises(HoneError, match=r"cannot broadcast \[2, 3\] with \[2\]"):
        b.binary("add", x, b.splat(0.0, Type("f32", (2,))))
    with pytest.raises(HoneError, match=r"cannot reshape \[2, 3\] to \[5\]"):
        b.reshape(x, (5,))
    with pytest.raises(HoneError, match=r"cannot contract \[2, 3\] with \[2, 3\]"):
        b.dot_general(x, x, ((), ()), ((0,), (1,)))


def test_identities_make_no_op() -> None:
    b = Builder()
    x = b.splat(0.0, Type("f32", (2, 3)))
    same = [
        b.reshape(x, (2, 3)),
        b.transpose(x, (0, 1)),
        b.broadcast_to(x, (2, 3)),
        b.cast(x, "f32"),
        b.concat([x], 0),
        b.slice_dim(x, 0, 0, 2),
        b.dropout(x, 0.0),
        b.scale(x, 1.0),
        b.reduce("sum", x, ()),
        b.pad(x, (0, 0), (0, 0)),
    ]
    assert same == [x] * len(same) and len(b.ops) == 1


def test_gradient_stops_at_stop_gradient_and_comparisons() -> None:
    b = Builder()
    x, y, z = (b.argument(Type("f32", (3,)), "param", name, requires_grad=True) for name in "xyz")
    chosen = b.select(b.compare("lt", y, x), x, b.stop_gradient(z))
    loss = b.reduce("sum", chosen, (0,))
    reached = values_with_gradient(tuple(b.ops), loss)
    assert x.id in reached and y.id not in reached and z.id not in reached
