"""Prints functions of attention and its gradient in random shapes: random_shapes.py COUNT SEED.

Sizes from 1 on, query heads that share key heads, more or fewer keys than queries, widths of keys and values that differ;
causal or not; dropout; a mask per batch, per head, for all or none, given or a window of positions made in the graph;
documents, where there are as many keys as queries.
"""

from __future__ import annotations

import random
import sys


def tensor(shape: tuple[int, ...], element: str = "f32") -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def window(pairs: tuple[int, int], reach: int) -> list[str]:
    """%m [1, 1, T, S]: 0 for the first key and where a key is at most `reach` before the query, else -inf."""
    kind, bits, numbers = tensor(pairs, "i64"), tensor(pairs, "i1"), tensor(pairs)
    return [
        f"%rows = hone.iota dim 0 : {kind}",
        f"%cols = hone.iota dim 1 : {kind}",
        f"%reach = hone.constant dense<{reach}> : {kind}",
        f"%last = hone.add %cols, %reach : {kind}",
        f"%before = hone.cmp lt, %last, %rows : {kind} -> {bits}",
        f"%none = hone.constant dense<0> : {kind}",
        f"%later = hone.cmp gt, %cols, %none : {kind} -> {bits}",
        f"%far = hone.and %before, %later : {bits}",
        f"%low = hone.constant dense<0xFF800000> : {numbers}",
        f"%zero = hone.constant dense<0.0> : {numbers}",
        f"%band = hone.select %far, %low, %zero : {bits}, {numbers}",
        f"%m = hone.reshape %band : {numbers} -> {tensor((1, 1, *pairs))}",
    ]


def function(name: str, pick: random.Random) -> str:
    batch, queries, keys = pick.choice((1, 2, 3)), pick.choice((1, 2, 5, 17)), pick.choice((1, 3, 5, 17, 18))
    groups, repeat = pick.choice((1, 2, 3)), pick.choice((1, 1, 2, 4))
    width, out = pick.choice((1, 4, 7)), pick.choice((1, 4, 6))
    heads = groups * repeat
    q, k, v = (batch, queries, heads, width), (batch, keys, groups, width), (batch, keys, groups, out)
    o, lse = (batch, queries, heads, out), (batch, heads, queries)
    arguments, body = [("q", q), ("k", k), ("v", v), ("g", o)], []
    mask = pick.choice(("", "", "window", "given"))
    masked = (1, 1, queries, keys)
    if mask == "given":
        masked = (pick.choice((1, batch)), pick.choice((1, heads)), queries, keys)
        arguments.append(("m", masked))
    elif mask:
        body += window((queries, keys), pick.choice((0, 2, 9)))
    masks, more = [], []
    if mask:
        masks, more = ["%m"], [tensor(masked)]
    if queries == keys and pick.random() < 0.7:
        rows = [[pick.randrange(3) for _ in range(keys)] for _ in range(batch)]
        body.append(f"%ids = hone.constant dense<{rows}> : {tensor((batch, keys), 'i32')}")
        masks, more = [*masks, "%ids"], [*more, tensor((batch, keys), "i32")]
    words = f" mask {', '.join(masks)}" if masks else ""
    tail = " causal" if pick.random() < 0.5 else ""
    tail += f" scale {pick.choice((1.0, 0.5, 0.375, -0.25))}"
    if pick.random() < 0.4:
        body.append(f"%key = hone.constant dense<[{pick.getrandbits(60)}, 7, {pick.randrange(9)}]> : tensor<3xi64>")
        words += " rng %key"
        more.append("tensor<3xi64>")
        tail += f" dropout {pick.choice((0.1, 0.5))} salt {pick.randrange(99)}"
    forward = ", ".join([tensor(q), tensor(k), tensor(v), *more])
    backward = ", ".join([tensor(o), tensor(q), tensor(k), tensor(v), tensor(o), tensor(lse), *more])
    results = [tensor(shape) for shape in (o, lse, q, k, v)]
    body += [
        f"%o, %l = hone.attention %q, %k, %v{words}{tail} : ({forward}) -> ({', '.join(results[:2])})",
        f"%dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l{words}{tail} : ({backward})"
        f" -> ({', '.join(results[2:])})",
        f"return %o, %l, %dq, %dk, %dv : {', '.join(results)}",
    ]
    given = ", ".join(f"%{argument}: {tensor(shape)}" for argument, shape in arguments)
    lines = "".join(f"  {line}\n" for line in body)
    return f"func.func @{name}({given}) -> ({', '.join(results)}) {{\n{lines}}}\n"


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    for number in range(count):
        print(function(f"case{number}", random.Random(1000 * seed + number)))


if __name__ == "__main__":
    main()
