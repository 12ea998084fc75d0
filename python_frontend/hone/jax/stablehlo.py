"""Walks a StableHLO module, as jax.jit(...).lower and jax.export write it, and builds the graph of it.

Each op becomes the primitives of JAX that it was lowered from (stablehlo_ops), and the walk of jaxprs takes these: what
is computed at export, what is refused and how each primitive is built is decided there. Functions of jax.random are
calls, known by their names; loops and branches are walked here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Sequence

import jax
import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

from ..errors import HoneError
from ..graph import Location
from ..source import placed
from .control import chosen, unrolled
from .names import is_key
from .random import drawn_by
from .stablehlo_ops import IDENTITIES, REFUSED, TABLE, constant_of, described
from .walk import Key, Operand, Walk

_TEXT = "module.mlir"  # the name of a module given as a text, in locations
_KEYS = re.compile(r"_?threefry\w*|_?rng_bit\w*")  # functions that make keys of keys


def is_program(step: Any) -> bool:
    """Whether `step` is a StableHLO module in some form, and no function."""
    return isinstance(step, (str, ir.Module)) or hasattr(step, "compiler_ir") or hasattr(step, "mlir_module")


def _parsed(text: str) -> ir.Module:
    with make_ir_context():
        try:
            return ir.Module.parse(text)
        except ir.MLIRError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            said = next((line for line in lines if line.startswith("error:")), lines[0])
            raise HoneError("step: is no StableHLO module: " + said.removeprefix("error: ").replace('"-"', _TEXT))


@dataclass
class Program:
    """A module; `kept`: which of the leaves of state and batch are arguments of its @main, where that is known."""

    module: ir.Module
    kept: list[int] | None = None

    @staticmethod
    def of(step: Any) -> Program:
        if isinstance(step, ir.Module):
            return Program(step)
        if isinstance(step, str):
            return Program(_parsed(step))
        if hasattr(step, "mlir_module"):  # jax.export.Exported
            return Program(_parsed(step.mlir_module()), list(step.module_kept_var_idx))
        lowering = getattr(step, "_lowering", None)
        kept = getattr(lowering, "compile_args", {}).get("kept_var_idx")
        return Program(step.compiler_ir("stablehlo"), None if kept is None else sorted(kept))

    @property
    def main(self) -> Any:
        found = self._functions().get("main")
        if found is None:
            raise HoneError("step: the module has no function @main")
        return found

    def _functions(self) -> dict[str, Any]:
        ops = (op.operation for op in self.module.body.operations)
        return {op.attributes["sym_name"].value: op for op in ops if op.name == "func.func"}

    def parameter(self, place: int) -> str | None:
        """The name of the step's parameter that leaf `place` of state and batch belongs to."""
        arguments, kept = self.main.regions[0].blocks[0].arguments, self.kept
        number = place if kept is None else kept.index(place) if place in kept else len(arguments)
        location = arguments[number].location if number < len(arguments) else None
        name = re.match(r"[^\W\d]\w*", location.name_str) if isinstance(location, ir.NameLoc) else None
        return name[0] if name else None

    def checked(self, arguments: Sequence[Any], state: int) -> list[str]:
        """The names of the results behind the first `state`. Raises HoneError where the arguments are others."""
        types = [x.type for x in self.main.regions[0].blocks[0].arguments]
        if self.kept is None and len(types) != len(arguments):
            raise HoneError(f"step: @main has {len(types)} arguments, expected {len(arguments)}, the leaves of state "
                            "and batch; lower with jax.jit(step, keep_unused=True)")
        self.kept = list(range(len(arguments))) if self.kept is None else self.kept
        for number, (type, place) in enumerate(zip(types, self.kept, strict=True)):
            seen, given = described(type), arguments[place]
            key = given.ndim and is_key(given) and seen.dtype == "uint32" and seen.shape[-1:] == (2,)
            key = key or is_key(given) and seen.shape == (*given.shape, 2)
            dtype = jax.dtypes.canonicalize_dtype(given.dtype) if not key else None
            if not key and (seen.shape, seen.dtype) != (given.shape, dtype):
                raise HoneError(f"step: argument {number} of @main is {seen.dtype}{list(seen.shape)}, expected "
                                f"{dtype}{list(given.shape)} as the leaf of state or batch")
        names = self._result_names()
        if len(names) <= state:
            raise HoneError(f"step: @main has {len(names)} results, expected {state} of the new state, and the loss")
        return names[state:]

    def _result_names(self) -> list[str]:
        """Names of the results, from jax.result_info, "result[1]['loss']", where the module has it."""
        count = len(self.main.attributes["function_type"].value.results)
        names = [f"result{number}" for number in range(count)]
        if "res_attrs" in self.main.attributes:
            for number, attributes in enumerate(self.main.attributes["res_attrs"]):
                has_name = "jax.result_info" in attributes
                if has_name and (parts := re.findall(r"\w+", attributes["jax.result_info"].value)):
                    names[number] = ".".join(parts)
        return names

    def run(self, w: Walk, operands: Sequence[Operand]) -> list[Operand]:
        """The results of @main on the leaves of state and batch."""
        assert self.kept is not None, "checked first"
        w.follows_source = False
        with jax.enable_x64(True):
            return _Module(w, self._functions()).call("main", [operands[place] for place in self.kept])


@dataclass
class _Module:
    """A walk of functions of a module."""

    w: Walk
    functions: dict[str, Any]
    traced: dict[tuple | None, Any] = field(default_factory=dict)

    def call(self, name: str, operands: Sequence[Operand]) -> list[Operand]:
        return self.block(self.functions[name].regions[0].blocks[0], operands, {})

    def block(self, block: Any, operands: Sequence[Operand], outer: dict[Any, Operand]) -> list[Operand]:
        """What a block returns, on operands for its arguments; `outer`: values around it."""
        env = outer | dict(zip(block.arguments, operands))
        for wrapper in block.operations:
            op = wrapper.operation
            inputs = [env[x] for x in op.operands]
            if op.name in ("func.return", "stablehlo.return"):
                return inputs
            env.update(zip(op.results, self._op(op, inputs, env), strict=True))
        raise HoneError("step: a function ends without a return")

    def _op(self, op: Any, inputs: list[Operand], env: dict[Any, Operand]) -> list[Operand]:
        w = self.w
        outer = w.frames, w.b.location
        name, frames = _place(op.location)
        w.frames = frames or w.frames
        w.b.location = w.location(name) if frames else Location(name)
        try:
            return self._walked(op, inputs, env)
        except HoneError as error:
            if getattr(error, "is_placed", False):
                raise
            where = HoneError(placed(f"{op.name}: {error}", w.frames))
            where.is_placed = True
            raise where from None
        finally:
            w.frames, w.b.location = outer

    def _walked(self, op: Any, inputs: list[Operand], env: dict[Any, Operand]) -> list[Operand]:
        name = op.name
        if name == "stablehlo.constant":
            return [constant_of(op)]
        if name in IDENTITIES:
            return inputs
        if name in ("func.call", "stablehlo.composite"):
            callee = "callee" if name == "func.call" else "decomposition"
            return self._called(op, op.attributes[callee].value, inputs)
        block = lambda region: lambda xs: self.block(op.regions[region].blocks[0], xs, env)
        if name == "stablehlo.while":
            return unrolled(inputs, block(0), block(1))
        if name == "stablehlo.case":
            branches = [lambda xs, i=i: block(i)(xs) for i in range(len(op.regions))]
            return chosen(self.w, inputs[0], branches, [])
        if name == "stablehlo.if":  # the first region is that of true
            return chosen(self.w, inputs[0], [block(1), block(0)], [])
        if name not in TABLE:
            raise HoneError(REFUSED.get(name, "this op is not supported; expected the step to do without it"))
        return self.w.run(self._traced(op, inputs), inputs)

    def _traced(self, op: Any, inputs: list[Operand]) -> Any:
        """The primitives of an op, shared by ops that are alike."""
        key = None
        if not len(op.regions):
            facts = [f"{name} = {op.attributes[name]}" for name in op.attributes]
            key = (op.name, *facts, *(str(x.type) for x in (*op.operands, *op.results)))
        if key not in self.traced or key is None:
            types = [described(x.type) for x in op.operands]
            self.traced[key] = jax.make_jaxpr(TABLE[op.name](op, inputs))(*types)
        return self.traced[key]

    def _called(self, op: Any, name: str, inputs: list[Operand]) -> list[Operand]:
        """A function of the module: one that draws, one that makes keys, or any."""
        if any(isinstance(x, Key) for x in inputs):
            plain = re.sub(r"_\d+$", "", name)
            results = [described(x.type) for x in op.results]
            draw = drawn_by(self.w, plain, results[0], inputs)
            if draw is not None:
                return [draw]
            if _KEYS.fullmatch(plain) and all(is_key(x) for x in results):
                key = next(x for x in inputs if isinstance(x, Key))
                others = tuple(repr(x) if isinstance(x, np.ndarray) else x for x in inputs if x is not key)
                return [key.derived(plain, others, i) for i in range(len(results))]
        return self.call(name, inputs)


def _place(location: Any) -> tuple[str, list[tuple[str, int]]]:
    """The names around an op, and its stack, the innermost line last."""
    if isinstance(location, ir.NameLoc):
        return "/".join(location.name_str.split("/")[1:-1]), _place(location.child_loc)[1]
    if isinstance(location, ir.CallSiteLoc):
        return "", _place(location.caller)[1] + _place(location.callee)[1]
    if isinstance(location, ir.FileLineColLoc):
        return "", [(_TEXT if location.filename == "-" else location.filename, location.start_line)]
    return "", []
