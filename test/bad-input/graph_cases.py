"""Bad graphs in a package."""

from __future__ import annotations

from workshop import GRAPH, Case, graph, honec, manifest, replaced, with_arguments

GRAPHS = {
    "graph-truncated": Case(
        honec(), 1, "p.hone/graph.mlir:5:113: expected '}' in attribute dictionary", graph(GRAPH[: len(GRAPH) // 2])
    ),
    "graph-empty": Case(honec(), 1, "p.hone/graph.mlir:1:1: has no function @forward", graph("")),
    "graph-binary": Case(honec(), 1, "p.hone/graph.mlir:1:2: unexpected character", graph("\x00\x01\x02\xff" * 64)),
    "graph-bytecode": Case(
        honec(), 1, "p.hone/graph.mlir: is MLIR bytecode, expected text", graph("ML\xefR" + "\xff" * 64)
    ),
    "graph-short-bytecode": Case(
        honec(), 1, "p.hone/graph.mlir: is MLIR bytecode, expected text", graph("ML\xefR\x01")
    ),
    "op-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:10: unregistered operation 'hone.frobnicate' found in dialect ('hone') that does not allow unknown operations",
        replaced("hone.neg", "hone.frobnicate"),
    ),
    "dialect-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:19: operation being parsed with an unregistered dialect",
        replaced("hone.neg", "foo.bar"),
    ),
    "other-dialect": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:10: 'math.absf' op is not an op of the hone dialect",
        replaced("hone.neg", "math.absf"),
    ),
    "type-mismatch": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:40: use of value '%y' expects different type than prior uses: 'tensor<2x8x16xf32>' vs 'tensor<2x8x17xf32>'",
        replaced("(tensor<2x8x16xf32>) -> tensor<2x8x16xf32>", "(tensor<2x8x16xf32>) -> tensor<2x8x17xf32>"),
    ),
    "operand-type-mismatch": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:21: use of value '%x' expects different type than prior uses: 'tensor<2x8x16xf64>' vs 'tensor<2x8x16xf32>'",
        replaced("(tensor<2x8x16xf32>) ->", "(tensor<2x8x16xf64>) ->"),
    ),
    "value-undefined": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:21: use of undeclared SSA value name",
        replaced('"hone.neg"(%x)', '"hone.neg"(%z)'),
    ),
    "value-defined-twice": Case(
        honec(), 1, "p.hone/graph.mlir:8:5: redefinition of SSA value '%x'", replaced("%y = ", "%x = ")
    ),
    "value-cyclic": Case(
        honec(),
        1,
        "p.hone/graph.mlir:8:10: operand #0 does not dominate this use",
        replaced('"hone.neg"(%x)', '"hone.neg"(%y)'),
    ),
    "attribute-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:19: 'hone.cross_entropy' op requires attribute 'ignore_index'",
        replaced("ignore_index = -100 : i64, ", ""),
    ),
    "attribute-type": Case(
        honec(),
        1,
        'p.hone/graph.mlir:9:19: invalid properties {ignore_index = -100 : i64, label_smoothing = "none", reduction = #hone<reduction mean>} for op hone.cross_entropy: Invalid attribute `label_smoothing` in property conversion: "none"',
        replaced("label_smoothing = 0.0 : f64", 'label_smoothing = "none"'),
    ),
    "reduction-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:140: expected ::hone::LossReduction to be one of: none, mean, sum",
        replaced("reduction mean", "reduction median"),
    ),
    "dynamic-shape": Case(
        honec(),
        1,
        "p.hone/graph.mlir:9:40: use of value '%y' expects different type than prior uses: 'tensor<2x8x16xf32>' vs 'tensor<?x8x16xf32>'",
        replaced("(tensor<2x8x16xf32>) -> tensor<2x8x16xf32>", "(tensor<2x8x16xf32>) -> tensor<?x8x16xf32>"),
    ),
    "size-overflow": Case(
        honec(),
        1,
        "p.hone/graph.mlir:3:23: invalid dimension",
        graph(GRAPH.replace("16x16xf32", "16x99999999999999999999xf32")),
    ),
    "bytes-overflow": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: makes a tensor of type 'tensor<4611686018427387904x16xf32>', expected at most 2^44 bytes",
        lambda shop: with_arguments(
            shop, GRAPH.replace("16x16xf32", "4611686018427387904x16xf32"), [4611686018427387904, 16]
        ),
    ),
    "nested-brackets": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:521: nests 513 levels deep, expected at most 512",
        graph("#deep = " + "[" * 100_000),
    ),
    "nested-regions": Case(
        honec(),
        1,
        "p.hone/graph.mlir:257:6: nests 513 levels deep, expected at most 512",
        graph('"a.b"() ({\n' * 20_000),
    ),
    "nested-minus": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:1052: nests 513 levels deep, expected at most 512",
        graph("#map = affine_map<(d0) -> (" + "- " * 100_000 + "d0)>"),
    ),
    "number-in-booleans": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:34: has a number in an array of i1, expected true or false",
        graph("module attributes {a = array<i1: 1>} {}"),
    ),
    "large-result-number": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:8: has a result number of more than 6 digits, expected fewer",
        graph("%0 = %1#2147483648"),
    ),
    "no-step": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:1: has no function @step",
        graph("module attributes {hone.whole_step} {}"),
    ),
    "no-forward": Case(honec(), 1, "p.hone/graph.mlir:1:1: has no function @forward", graph("module {}")),
    "dialect-older": Case(
        honec(),
        1,
        "p.hone/graph.mlir:1:1: dialect version is 1 : i64, expected 2: export the model again with this version",
        replaced("hone.version = 2", "hone.version = 1"),
    ),
    "kind-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has kind '', expected 'param' as in manifest.json",
        replaced('hone.kind = "param", ', ""),
    ),
    "kind-unknown": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: attribute 'hone.kind' is \"weight\", expected an argument kind (param, buffer, opt, grad, input, rng, scalar, working_copy, cache)",
        replaced('hone.kind = "param"', 'hone.kind = "weight"'),
    ),
    "init-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 ('table') has no hone.init, expected one on all state",
        replaced(', hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}', ""),
    ),
    "init-unknown": Case(
        honec(),
        1,
        'p.hone/graph.mlir:2:3: attribute \'hone.init\' is {dist = "cauchy", mean = 0.000000e+00 : f64, std = 2.000000e-02 : f64}, expected {dist = "normal", mean, std}, {dist = "uniform", low, high}, {dist = "constant", value} or {dist = "file"} with float entries',
        replaced('dist = "normal"', 'dist = "cauchy"'),
    ),
    "loss-missing": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: returns something else than one loss, expected one result of kind loss, floating-point and of rank 0",
        replaced(' {hone.kind = "loss"}', ""),
    ),
    "nothing-to-train": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: the loss depends on no parameter that requires a gradient, expected at least one",
        replaced("hone.requires_grad, ", ""),
    ),
}
