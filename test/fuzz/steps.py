"""The training step written by hand around a printed @gradient: what hone-build-step must agree with.

The update is spelled in elementwise ops after the formulas of the optimizers' papers, the norm as sums of squares, so
neither the pass nor the ops hone.adamw, hone.sgd, hone.lion and hone.global_norm are on this side of the comparison. Arguments and
results are those of the step that the pass built, matched by kind and name. Where @gradient takes the cotangent of the
loss, the step scales it by PyTorch's GradScaler: gradients are unscaled one by one here, which the pass never does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ARGUMENT = re.compile(r"%arg(\d+): (tensor<[^>]*>)(?: \{((?:[^{}]|\{[^{}]*\})*)\})?")
RESULT = re.compile(r"(tensor<[^>]*>) \{((?:[^{}]|\{[^{}]*\})*)\}")


def attribute(text: str, name: str) -> str:
    match = re.search(rf'hone\.{name} = "([^"]*)"', text or "")
    return match[1] if match else ""


@dataclass
class Signature:
    """Arguments and results of a printed function by kind and name."""

    text: str
    arguments: list[tuple[str, str, str]] = field(default_factory=list)  # kind, name, type
    results: list[tuple[str, str, str]] = field(default_factory=list)

    @staticmethod
    def of(function: str) -> Signature:
        head = function.splitlines()[0]
        given, made = head.split(") -> ", 1)
        arguments = [(attribute(m[3], "kind"), attribute(m[3], "fqn"), m[2]) for m in ARGUMENT.finditer(given)]
        results = [(attribute(m[2], "kind"), attribute(m[2], "fqn"), m[1]) for m in RESULT.finditer(made)]
        return Signature(head, arguments, results)


class Writer:
    """Lines of elementwise ops on values of one type; scalars are repeated where they meet a tensor."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def emit(self, text: str) -> str:
        name = f"%r{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return name

    def op(self, name: str, *operands: str, type: str) -> str:
        return self.emit(f"hone.{name} {', '.join(operands)} : {type}")

    def number(self, value: float, type: str) -> str:
        """A constant that is not rounded when floats stand for double."""
        wide = type.replace("f32", "f64")
        exact = self.emit(f"hone.constant dense<{value:.17e}> : {wide}")
        return self.emit(f"hone.cast {exact} : {wide} -> {type}")

    def kept(self, condition: str, new: str, old: str, type: str) -> str:
        """The new values where the scalar `condition` is true, else the old ones."""
        flags = type.replace("f32", "i1")
        spread = condition if type == "tensor<f32>" else self.emit(
            f"hone.broadcast {condition} dims [] : tensor<i1> -> {flags}")
        return self.emit(f"hone.select {spread}, {new}, {old} : {flags}, {type}")

    def spread(self, scalar: str, type: str) -> str:
        if type == "tensor<f32>":
            return scalar
        return self.emit(f"hone.broadcast {scalar} dims [] : tensor<f32> -> {type}")

    def total(self, value: str, type: str) -> str:
        rank = type.count("x")
        if rank == 0:
            return value
        return self.emit(f"hone.reduce sum {value} dims {list(range(rank))} : {type} -> tensor<f32>")


def inline(gradient: str, step: Signature) -> tuple[list[str], list[str]]:
    """Body of @gradient on the arguments of the step, and what it returns."""
    place = {(kind, name): index for index, (kind, name, _) in enumerate(step.arguments)}
    *body, last = gradient.splitlines()[1:-1]
    text = "\n".join(body)
    if ("opt", "loss_scale") in place:
        place["scalar", "loss_cotangent"] = place["opt", "loss_scale"]
    names = {f"%arg{index}": f"%arg{place[kind, name]}"
             for index, (kind, name, _) in enumerate(Signature.of(gradient).arguments)}
    def rename(line: str) -> str:
        return re.sub(r"%arg\d+\b", lambda match: names[match[0]], line)
    returned = re.findall(r"%[\w.$#-]+", rename(last).split(" : ")[0])
    return [rename(text)], returned


def settings(module: str) -> dict[str, float]:
    head = module.splitlines()[0]
    found = {name: float(value) for name, value in re.findall(r"(\w+) = ([-0-9.e+]+) : f64", head)}
    return found | {"nesterov": float(re.search(r"\bnesterov\b", head) is not None)}


def scaled(w: Writer, at: dict[tuple[str, str], str], finite: str, interval: int) -> dict[tuple[str, str], str]:
    """Scale, good steps in a row and updates made, after a step that was finite or is skipped."""
    one, count, flag = "tensor<f32>", "tensor<i64>", "tensor<i1>"
    def whole(value: int) -> str:
        return w.emit(f"hone.constant dense<{value}> : {count}")
    def choose(pred: str, x: str, y: str, type: str) -> str:
        return w.emit(f"hone.select {pred}, {x}, {y} : {flag}, {type}")
    scale, good, updates = (at["opt", name] for name in ("loss_scale", "loss_scale.good_steps", "updates"))
    streak = w.op("add", good, whole(1), type=count)
    grows = w.emit(f"hone.cmp ge, {streak}, {whole(interval)} : {count} -> {flag}")
    # 2^64 bounds it.
    twice = w.op("min", w.op("add", scale, scale, type=one), w.number(2.0**64, one), type=one)
    half = w.op("div", scale, w.number(2.0, one), type=one)
    return {("opt", "loss_scale"): choose(finite, choose(grows, twice, scale, one), half, one),
            ("opt", "loss_scale.good_steps"): choose(finite, choose(grows, whole(0), streak, count), whole(0), count),
            ("opt", "updates"): choose(finite, w.op("add", updates, whole(1), type=count), updates, count)}


def unscale(w: Writer, at: dict[tuple[str, str], str], gradients: dict[str, str],
            types: dict[str, str]) -> dict[str, str]:
    if ("opt", "loss_scale") not in at:
        return gradients
    return {name: w.op("div", g, w.spread(at["opt", "loss_scale"], types[name]), type=types[name])
            for name, g in gradients.items()}


def update(w: Writer, step: Signature, gradients: dict[str, str], numbers: dict[str, float],
           interval: int) -> dict[tuple[str, str], str]:
    """New values by kind and name."""
    at = {(kind, name): f"%arg{index}" for index, (kind, name, _) in enumerate(step.arguments)}
    types = {name: type for kind, name, type in step.arguments if kind == "param"}
    one = "tensor<f32>"
    gradients = unscale(w, at, gradients, types)
    squares = [w.total(w.op("mul", g, g, type=types[name]), types[name]) for name, g in gradients.items()]
    total = squares[0]
    for square in squares[1:]:
        total = w.op("add", total, square, type=one)
    norm = w.op("sqrt", total, type=one)
    bound = w.op("div", at["scalar", "clip"], w.op("add", norm, w.number(1e-6, one), type=one), type=one)
    factor = w.op("min", bound, w.number(1.0, one), type=one)
    lr, decay = at["scalar", "lr"], at["scalar", "weight_decay"]
    new: dict[tuple[str, str], str] = {("grad_norm", ""): norm}
    made = at["scalar", "step"]
    rest = w.op("sub", norm, norm, type=one)  # NaN for what is not finite
    finite = w.emit(f"hone.cmp eq, {rest}, {w.number(0.0, one)} : {one} -> tensor<i1>")
    if ("opt", "loss_scale") in at:
        new |= scaled(w, at, finite, interval)
        made = new["opt", "updates"]
    count = w.emit(f"hone.cast {made} : tensor<i64> -> tensor<f32>")
    for name, raw in gradients.items():
        t, p = types[name], at["param", name]
        g = w.op("mul", raw, w.spread(factor, t), type=t)
        if ("opt", f"exp_avg.{name}") in at and ("opt", f"exp_avg_sq.{name}") not in at:  # Lion
            old = at["opt", f"exp_avg.{name}"]
            blend = lambda beta: w.op("add", w.op("mul", w.number(beta, t), old, type=t),
                                      w.op("mul", w.number(1 - beta, t), g, type=t), type=t)
            new["opt", f"exp_avg.{name}"] = blend(numbers["beta2"])
            shrunk = w.op("mul", p, w.spread(w.op("mul", lr, decay, type=one), t), type=t)
            p, move = w.op("sub", p, shrunk, type=t), w.op("sign", blend(numbers["beta1"]), type=t)
        elif ("opt", f"exp_avg.{name}") in at:
            moments = []
            for key, beta, sample in (("exp_avg", numbers["beta1"], g),
                                      ("exp_avg_sq", numbers["beta2"], w.op("mul", g, g, type=t))):
                old = w.op("mul", w.number(beta, t), at["opt", f"{key}.{name}"], type=t)
                moment = w.op("add", old, w.op("mul", w.number(1 - beta, t), sample, type=t), type=t)
                lost = w.op("pow", w.number(beta, one), count, type=one)
                rest = w.op("sub", w.number(1.0, one), lost, type=one)
                moments.append(w.op("div", moment, w.spread(rest, t), type=t))
                new["opt", f"{key}.{name}"] = moment
            root = w.op("add", w.op("sqrt", moments[1], type=t), w.number(numbers["eps"], t), type=t)
            move = w.op("div", moments[0], root, type=t)
            shrunk = w.op("mul", p, w.spread(w.op("mul", lr, decay, type=one), t), type=t)
            p = w.op("sub", p, shrunk, type=t)
        else:
            move = w.op("add", g, w.op("mul", p, w.spread(decay, t), type=t), type=t)
            if ("opt", f"momentum.{name}") in at:
                momentum = w.number(numbers["momentum"], t)
                speed = w.op("add", w.op("mul", momentum, at["opt", f"momentum.{name}"], type=t), move, type=t)
                new["opt", f"momentum.{name}"] = speed
                move = w.op("add", move, w.op("mul", momentum, speed, type=t), type=t) if numbers["nesterov"] else speed
        new["param", name] = w.op("sub", p, w.op("mul", w.spread(lr, t), move, type=t), type=t)
        for kind, of in list(new):
            if (kind, of) == ("param", name) or (kind == "opt" and of.endswith(f".{name}")):
                new[kind, of] = w.kept(finite, new[kind, of], at[kind, of], t)
    return new


def finish(function: str, lines: list[str], new: dict[tuple[str, str], str]) -> str:
    signature = Signature.of(function)
    values = ", ".join(new[kind, name] for kind, name, _ in signature.results)
    types = ", ".join(type for _, _, type in signature.results)
    return "\n".join([signature.text, *lines, f"    return {values} : {types}", "  }"]) + "\n"


def reference(before: dict[str, str], after: dict[str, str], module: str, interval: int) -> dict[str, str]:
    """@step, or @accumulate and @update, written by hand; `before` holds @gradient, `after` what the pass made.

    The loss scale grows after `interval` good steps.
    """
    numbers, gradient = settings(module), before["gradient"]
    names = [name for kind, name, _ in Signature.of(gradient).results if kind == "grad"]
    written = {}
    if "step" in after:
        signature, w = Signature.of(after["step"]), Writer()
        body, (loss, *grads) = inline(gradient, signature)
        gradients = dict(zip(names, grads))
        new = update(w, signature, gradients, numbers, interval) | {("loss", ""): loss}
        at = {(kind, name): f"%arg{index}" for index, (kind, name, _) in enumerate(signature.arguments)}
        types = {name: type for kind, name, type in signature.arguments if kind == "param"}
        new |= {("grad", name): value for name, value in unscale(w, at, gradients, types).items()}
        written["step"] = finish(after["step"], body + w.lines, new)
    if "accumulate" in after:
        signature, w = Signature.of(after["accumulate"]), Writer()
        at = {(kind, name): (f"%arg{index}", type) for index, (kind, name, type) in enumerate(signature.arguments)}
        body, (loss, *grads) = inline(gradient, signature)
        seed = re.search(r"hone\.seed = ([-0-9.e+]+)", gradient.splitlines()[0])
        batches = float(re.search(r"hone\.micro_batches = (\d+)", module)[1])
        share = 1.0 / batches / float(seed[1] if seed else 1.0)
        new = {}
        for name, value in zip(names, grads):
            old, type = at["grad", name]
            new["grad", name] = w.op("add", old, w.op("mul", value, w.number(share, type), type=type), type=type)
        old, type = at["scalar", "loss"]
        part = w.op("mul", loss, w.number(1.0 / batches, type), type=type)
        new["scalar", "loss"] = w.op("add", old, part, type=type)
        written["accumulate"] = finish(after["accumulate"], body + w.lines, new)
        signature, w = Signature.of(after["update"]), Writer()
        gradients = {name: f"%arg{index}" for index, (kind, name, _) in enumerate(signature.arguments)
                     if kind == "grad"}
        new = update(w, signature, gradients, numbers, interval)
        written["update"] = finish(after["update"], w.lines, new)
    return written
