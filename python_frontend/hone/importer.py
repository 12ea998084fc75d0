"""Turns the captured FX graph into a hone graph, node by node."""

from __future__ import annotations

import operator
from typing import Sequence

import torch
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

from .aten import TABLE
from .aten.complex import COMPLEX, COMPLEX_TYPE, PER_PART, Complex, per_part
from .builder import Builder
from .capture import Capture, local_name
from .decompose import decomposed
from .errors import HoneError, UseDefinition
from .guards import shared_with
from .graph import Location, Type, Value
from .source import NUMBER, SHAPE, frames_of, placed, user_frame
from .structured import has_equal_halves, structured_constant

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

# Constants up to this size are written into the graph, larger ones become buffers.
_INLINE_BYTES = 64


# Operators whose result's shape, or a number in Python, depends on values.
_BY_VALUE = {
    **dict.fromkeys(("item.default", "_local_scalar_dense.default"), NUMBER),
    **dict.fromkeys(("nonzero.default", "nonzero_numpy.default", "masked_select.default", "argwhere.default"), SHAPE),
}


# In-place operators that change the shape alone, and their functional twins.
_RENAMED_IN_PLACE = {
    f"{name}_.{overload}": f"{name}.{overload}"
    for name, overload in (
        *(("unsqueeze", "default"), ("squeeze", "default"), ("squeeze", "dim"), ("squeeze", "dims")),
        *(("t", "default"), ("transpose", "int"), ("swapaxes", "default"), ("swapdims", "default")),
    )
}


class AliasedWrite(HoneError):
    """An in-place operator that only functionalisation (by torch) can express."""


class _InDefinition(HoneError):
    """An error within torch's definition of an operator: what it is made of is not supported."""

    def __init__(self, message: str, missing: str) -> None:
        super().__init__(message)
        self.missing = missing


class _PlacedError(HoneError):
    """An error that names its source line already."""


def type_of(tensor: torch.Tensor, what: str) -> Type:
    if tensor.dtype not in DTYPES:
        raise HoneError(f"{what}: element type {tensor.dtype} is not supported, only {', '.join(map(str, DTYPES))}")
    if not all(isinstance(size, int) for size in tensor.shape):
        raise HoneError(f"{what}: shape {tuple(tensor.shape)} is not static")
    return Type(DTYPES[tensor.dtype], tuple(tensor.shape))


def used_parameters(captured: Capture) -> set[str]:
    """Canonical names of the parameters the graph reads."""
    nodes = {node.name: node for node in captured.program.graph.nodes if node.op == "placeholder"}
    return {
        captured.names[local_name(spec.target)]
        for spec in captured.program.graph_signature.input_specs
        if spec.kind == InputKind.PARAMETER and nodes[spec.arg.name].users
    }


def cuts_gradients(captured: Capture) -> bool:
    """Whether a no_grad region of the program reads what depends on a parameter."""
    specs = [s for s in captured.program.graph_signature.input_specs if s.kind == InputKind.PARAMETER]
    trained = {name for name, first in captured.names.items() if captured.parameters[first].requires_grad}
    return _cuts_gradients(
        captured.program.graph_module, {s.arg.name for s in specs if local_name(s.target) in trained}
    )


def _cuts_gradients(module: GraphModule, differentiable: set[str]) -> bool:
    """The same for a graph, of whose nodes those called `differentiable` depend on a parameter."""
    reached = {node for node in module.graph.nodes if node.name in differentiable}
    for node in module.graph.nodes:
        if not reached.intersection(node.all_input_nodes):
            continue
        reached.add(node)
        name = str(node.target)
        if name == "wrap_with_set_grad_enabled" and not node.args[0]:
            return True
        for place, argument in enumerate(node.args):
            if not isinstance(argument, Node) or argument.op != "get_attr":
                continue
            inner = operator.attrgetter(argument.target)(module)
            if not isinstance(inner, GraphModule):
                continue
            inputs = (n for n in inner.graph.nodes if n.op == "placeholder")
            if _cuts_gradients(inner, {n.name for n, x in zip(inputs, node.args[place + 1 :]) if x in reached}):
                return True
    return False


class Importer:
    """One walk over an exported program. `values` maps placeholders to the arguments made for them."""

    def __init__(self, builder: Builder, captured: Capture) -> None:
        self.b = builder
        self.captured = captured
        self.constants: dict[str, torch.Tensor] = {}  # buffers that became arguments, by name
        self._storage: dict[Node, Node] = {}  # node -> the node whose storage it views
        self._renamed: dict[Node, list[Node]] = {}  # nodes that are one tensor, by in-place operators between them
        self._pinned: dict[Node, str] = {}  # storage that must not change: what it belongs to
        self._open: list = []  # operators whose definitions are being imported

    # -- arguments ----------------------------------------------------------------------------------------------------

    def run(self, parameters: dict[str, Value], inputs: Sequence[Value]) -> Value:
        """Imports the program over these arguments and returns the loss. Buffers become arguments as they are met."""
        program, remaining = self.captured.program, iter(inputs)
        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        env: dict[Node, object] = {}
        for node in program.graph.nodes:
            if node.op != "placeholder":
                continue
            spec = specs[node.name]
            if spec.kind == InputKind.USER_INPUT:
                env[node] = next(remaining)
                self._pinned[node] = "an input"
            elif not node.users:
                continue
            elif spec.kind == InputKind.PARAMETER:
                env[node] = parameters[self.captured.names[local_name(spec.target)]]
                self._pinned[node] = f"parameter '{local_name(spec.target)}'"
            elif spec.kind == InputKind.BUFFER:
                name = local_name(spec.target)
                env[node] = self._state(self.captured.buffers[name], name)
                self._pinned[node] = f"buffer '{name}'"
            elif spec.kind == InputKind.CONSTANT_TENSOR:
                env[node] = self._state(program.constants[spec.target], local_name(spec.target))
                self._pinned[node] = f"the tensor '{local_name(spec.target)}', which is no input"
            elif spec.kind == InputKind.CUSTOM_OBJ:
                raise HoneError(
                    "model: passes an object that is no tensor to an operator, such as a torch.Generator; the compiled "
                    "program numbers its random draws itself (--seed)"
                )
            else:
                raise HoneError(f"capture: argument '{node.name}' of kind {spec.kind.name} is not supported")
        results = self._graph(program.graph_module, env)
        if len(results) != 1:
            raise HoneError(f"loss_fn: returns {len(results)} values, expected one scalar loss")
        return results[0]

    def _state(self, tensor: torch.Tensor, name: str) -> Value:
        """A buffer or constant: written into the graph where its values follow a rule or are few, else an argument."""
        type = type_of(tensor, name)
        if (owner := shared_with(tensor, self.captured.parameters)) is not None:
            raise HoneError(
                f"buffer '{name}': shares memory with parameter '{owner}', which training changes; clone() it"
            )
        if tensor.is_meta:
            raise HoneError(f"buffer '{name}' has no values (meta device), and the graph needs them")
        value = structured_constant(self.b, tensor, type)
        if value is not None:
            return value
        if tensor.numel() * tensor.element_size() <= _INLINE_BYTES:
            return self.b.constant(tensor.flatten().tolist(), type)
        if has_equal_halves(tensor):  # stored once, so that the graph itself shows the repetition
            tensor = tensor.chunk(2, dim=-1)[0]
        self.constants[name] = tensor
        value = self.b.argument(type_of(tensor, name), "buffer", name, init={"dist": "file"})
        return value if value.type == type else self.b.concat([value, value], value.rank - 1)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _graph(self, module: GraphModule, env: dict[Node, object], within: Node | None = None) -> list:
        """Imports the nodes of a graph; `within` is the operator that it is the decomposition of."""
        order = {node: index for index, node in enumerate(module.graph.nodes)}
        for node in module.graph.nodes:
            if node.op == "output":
                return _flat([env[x] if isinstance(x, Node) else x for x in _flat(node.args[0])])
            if node.op == "placeholder":
                continue
            self.b.location = _location(within or node)
            try:
                env[node] = self._node(module, node, env, order)
            except (_PlacedError, AliasedWrite):
                raise
            except HoneError as error:
                if within is not None:
                    raise
                raise _PlacedError(_placed(node, str(error))) from None
        raise AssertionError("a graph without output")

    def _node(self, module: GraphModule, node: Node, env: dict, order: dict[Node, int]):
        if node.op == "get_attr":
            attribute = operator.attrgetter(node.target)(module)
            self._pinned[node] = f"the tensor '{local_name(node.target)}', which is no input"
            return attribute if isinstance(attribute, GraphModule) else self._state(attribute, local_name(node.target))
        args = torch.fx.map_arg(node.args, lambda x: env[x])
        if node.target is operator.getitem:
            self._storage[node] = self._root(node.args[0])
            return args[0][args[1]]
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._region(node, args)
        if isinstance(node.target, type) and issubclass(node.target, tuple):  # a named tuple of results
            return list(args[0] if isinstance(args[0], (tuple, list)) else args)
        if not isinstance(node.target, torch._ops.OpOverload):
            raise HoneError(f"{_name(node)} is not a tensor operator")
        name = str(node.target).removeprefix("aten.")
        if node.target.namespace != "aten" and name not in TABLE:
            raise HoneError(f"operator {_name(node)} is not supported")
        if name in _BY_VALUE:
            raise _PlacedError(placed(_BY_VALUE[name], frames_of(node.meta.get("stack_trace"))))
        if name.startswith(("_assert", "sym_constrain", "_functional_assert")):
            return None
        kwargs = torch.fx.map_arg(node.kwargs, lambda x: env[x])
        bound = _bind(node.target._schema, args, kwargs)
        if _is_complex(node, bound):
            return self._complex(name, node, bound)
        if name in _RENAMED_IN_PLACE:  # another shape of the same elements: nothing is written
            result = self._emitted(_RENAMED_IN_PLACE[name], bound)
            self._note_view(node)
            return result
        if name.split(".")[0].endswith("_") and not name.startswith("__"):
            return self._in_place(name, bound, node, env, order)
        result = self._result(node.target, node, bound, env)
        self._note_view(node)
        self._check(node, result)
        return result

    def _result(self, target: torch._ops.OpOverload, node: Node, bound: dict, env: dict):
        """What `target` makes of the node's arguments: by its emitter, or by torch's definition of it."""
        name = str(target).removeprefix("aten.")
        if name in TABLE:
            try:
                return self._emitted(name, bound)
            except UseDefinition:
                pass
        return self._by_definition(target, node, env)

    def _by_definition(self, target: torch._ops.OpOverload, node: Node, env: dict):
        name = str(target).removeprefix("aten.")
        if target in self._open:  # its definition uses itself
            raise HoneError(f"operator aten.{name} is not supported")
        definition = self._definition(target, node)
        if definition is None:
            raise HoneError(f"operator aten.{name} is not supported")
        module, inputs = definition
        self._open.append(target)
        try:
            results = self._inline(module, [env[x] for x in inputs], node)
        except _PlacedError:
            raise
        except HoneError as error:  # the innermost one says what is missing
            missing = error.missing if isinstance(error, _InDefinition) else str(error)
            raise _InDefinition(f"operator aten.{name} is not supported ({missing})", missing) from None
        finally:
            self._open.pop()
        return results if len(target._schema.returns) > 1 or isinstance(node.meta.get("val"), list) else results[0]

    def _definition(self, target: torch._ops.OpOverload, node: Node):
        try:
            return decomposed(target, node)
        except Exception as error:  # torch's definition does not take these arguments
            raise HoneError(f"operator {target} with these arguments is not supported ({error})") from error

    def _emitted(self, name: str, bound: dict):
        try:
            return TABLE[name](self.b, **bound)
        except (AttributeError, IndexError, TypeError, ValueError) as error:  # a form the emitter does not foresee
            raise HoneError(f"operator aten.{name} with these arguments is not supported ({error})") from error

    def _region(self, node: Node, args: Sequence):
        name = str(node.target)
        if name == "wrap_with_set_grad_enabled":
            enabled, module, operands = args[0], args[1], args[2:]
            results = self._inline(module, operands)
            return results if enabled else [self.b.stop_gradient(x) if isinstance(x, Value) else x for x in results]
        if name == "wrap_with_autocast":
            if args[2]:
                inner = next((n for n in args[4].graph.nodes if n.op == "call_function"), node)
                raise _PlacedError(
                    _placed(inner, "a torch.autocast region is not supported: precision is chosen when compiling")
                )
            return self._inline(args[4], args[5:])
        raise HoneError(f"operator {name} is not supported")

    def _inline(self, module: GraphModule, operands: Sequence, within: Node | None = None) -> list:
        inner = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._pinned |= {node: "a tensor from outside its region" for node in inner}
        return self._graph(module, dict(zip(inner, operands)), within)

    # -- views and in-place operators ---------------------------------------------------------------------------------

    def _root(self, node: Node) -> Node:
        return self._storage.get(node, node)

    def _note_view(self, node: Node) -> None:
        """Remembers whose storage a view shares, by the overload's schema."""
        arguments = node.target._schema.arguments if hasattr(node.target, "_schema") else ()
        for argument, source in zip(arguments, node.args):
            if argument.alias_info is not None and isinstance(source, Node):
                self._storage[node] = self._root(source)

    def _in_place(self, name: str, bound: dict, node: Node, env: dict, order: dict[Node, int]) -> Value:
        """`x.op_(...)` as a new value for `x`, where nothing else looks at the changed storage afterwards."""
        base, overload = name.split(".", 1)
        functional = getattr(getattr(torch.ops.aten, base[:-1], None), overload, None)
        if functional is None:
            raise HoneError(f"operator aten.{name} is not supported")
        written = node.args[0]
        root, same = self._root(written), self._renamed.setdefault(written, [written])
        if root in self._pinned:
            raise HoneError(f"aten.{name} changes {self._pinned[root]} in place, which is not supported")
        for other in env:
            if (
                other not in same
                and self._root(other) is root
                and any(order[user] > order[node] for user in other.users)
            ):
                raise AliasedWrite(
                    _placed(node, f"aten.{name} changes a tensor that is read later through another view")
                )
        target = bound["self"]
        result = self.b.cast(self._result(functional, node, bound, env), target.dtype)
        if result.shape != target.shape:
            raise HoneError(f"aten.{name} does not keep the shape {list(target.shape)}")
        same.append(node)
        self._storage[node] = root
        for alias in same:
            self._renamed[alias] = same
            env[alias] = result
        return result

    # -- checks -------------------------------------------------------------------------------------------------------

    def _complex(self, name: str, node: Node, bound: dict):
        """An operator that takes or makes complex tensors."""
        if name in COMPLEX:
            result = COMPLEX[name](self.b, **bound)
        elif name in PER_PART:
            result = per_part(self.b, name, bound)
        else:
            raise HoneError(f"operator {_name(node)} of complex tensors is not supported: write it with real ones")
        self._note_view(node)
        expected = node.meta["val"]
        if not isinstance(result, Complex):
            self._check(node, result)
        elif tuple(expected.shape) != result.shape:
            raise HoneError(f"{_name(node)} was imported as {list(result.shape)}, PyTorch makes it {expected.shape}")
        return result

    def _check(self, node: Node, result) -> None:
        """The emitter's result must have the type torch says: a wrong table entry stops here, not in the compiler."""
        for expected, value in zip(_flat(node.meta.get("val")), _flat(result)):
            if isinstance(expected, torch.Tensor) and isinstance(value, Value):
                wanted = type_of(expected, _name(node))
                if wanted != value.type:
                    raise HoneError(f"{_name(node)} was imported as {value.type}, PyTorch makes it {wanted}")


def _is_complex(node: Node, bound: dict) -> bool:
    """Whether a node takes or makes complex tensors."""
    made = (x for x in _flat(node.meta.get("val")) if isinstance(x, torch.Tensor))
    return any(x.is_complex() for x in made) or any(isinstance(x, Complex) for x in _flat(list(bound.values())))


def _bind(schema, args: Sequence, kwargs: dict) -> dict:
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


def _flat(value) -> list:
    return [x for item in value for x in _flat(item)] if isinstance(value, (list, tuple)) else [value]


def _name(node: Node) -> str:
    return (
        str(node.target)
        if not callable(node.target) or hasattr(node.target, "_schema")
        else getattr(node.target, "__name__", str(node.target))
    )


def _location(node: Node) -> Location:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    module = local_name(stack[-1][0]) if stack else ""
    file, line = user_frame(frames_of(node.meta.get("stack_trace"))) or ("", 0)
    return Location(module, file, line)


def _placed(node: Node, message: str) -> str:
    """`message` with where in the user's program it belongs."""
    location = _location(node)
    place = f"{location.file}:{location.line}: " if location.file else ""
    within = f" (in module '{location.module}')" if location.module else ""
    return f"{place}{message}{within}"
