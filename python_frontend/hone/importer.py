"""Turns the captured FX graph into a hone graph, node by node."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Collection, Mapping, Sequence

import torch
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

from .aten import TABLE
from .aten.norms import RUNNING_STATISTICS
from .aten.complex import COMPLEX, PER_PART, Complex, per_part
from .aten.refused import BY_VALUE, REFUSED
from .builder import Builder
from .capture import Capture, local_name, traced_backward
from .conditions import Conditions, PlacedError
from .custom_gradients import CUSTOM_GRADIENT, custom_op_of, has_gradient
from .decompose import decomposed
from .errors import HoneError, UseDefinition
from .guards import shared_with
from .graph import Type, Value
from .memory import Memory, storage_of
from .nodes import bind, flat, functional_twin, is_complex_node, location_of, name_of, placed_at, type_of
from .source import frames_of, placed
from .structured import has_equal_halves, structured_constant

# Constants up to this size are written into the graph, larger ones become buffers.
_INLINE_BYTES = 64


class _InDefinition(HoneError):
    """An error within torch's definition of an operator: what it is made of is not supported."""

    def __init__(self, message: str, missing: str) -> None:
        super().__init__(message)
        self.missing = missing


def used_parameters(captured: Capture) -> set[str]:
    """Canonical names of the parameters the graph reads."""
    nodes = {node.name: node for node in captured.program.graph.nodes if node.op == "placeholder"}
    return {
        captured.names[local_name(spec.target)]
        for spec in captured.program.graph_signature.input_specs
        if spec.kind == InputKind.PARAMETER and nodes[spec.arg.name].users
    }


class Importer:
    """One walk over an exported program.

    changing: the buffers that become arguments, since the program writes to them, and whether evaluation does so too;
    after `run`, `changed_buffers` has those that it did write to, with their new values.
    moved: the buffers that become arguments, since the step changes them.
    """

    def __init__(
        self, builder: Builder, captured: Capture, changing: Mapping[str, bool] = {}, moved: Collection[str] = ()
    ) -> None:
        self.b = builder
        self.captured = captured
        self._calls = list(captured.calls)
        self.constants: dict[str, torch.Tensor] = {}  # buffers that became arguments, by name
        self.conditions = Conditions(builder)
        self.changed_inputs: dict[str, None] = {}  # names of inputs that the program writes to
        self.changed_buffers: dict[str, Value] = {}
        self._changing = changing
        self._moved = moved
        self.given: dict[str, Value] = {}  # constants of the program that are arguments, by name
        self._buffers: dict[Node, str] = {}
        self._written: dict[Node, list[Value]] = {}  # buffers, and what was written to them
        self._inputs: dict[Node, str] = {}
        self._memory = Memory(builder)
        self._outputs: dict[Node, list] = {}  # what the graph in a node's place outputs
        self._detached: set[Node] = set()  # no_grad regions
        self._gradient_cut = False  # within one
        self._pinned: dict[Node, str] = {}  # storage that must not change: what it belongs to
        self._open: list = []  # operators whose definitions are being imported

    # -- arguments ----------------------------------------------------------------------------------------------------

    def run(self, parameters: dict[str, Value], inputs: Sequence[Value]) -> Value:
        """Imports the program over these arguments and returns the loss. Buffers become arguments as they are met."""
        results = self._run(parameters, inputs)
        if len(results) != 1:
            raise HoneError(f"loss_fn: returns {len(results)} values, expected one scalar loss")
        return results[0]

    def _run(self, parameters: dict[str, Value], inputs: Sequence[Value]) -> list[Value]:
        program, remaining = self.captured.program, iter(inputs)
        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        env: dict[Node, object] = {}
        for node in program.graph.nodes:
            if node.op != "placeholder":
                continue
            spec = specs[node.name]
            if spec.kind == InputKind.USER_INPUT:
                env[node] = next(remaining)
                self._inputs[node] = self.captured.inputs[len(self._inputs)]
            elif not node.users:
                continue
            elif spec.kind == InputKind.PARAMETER:
                env[node] = parameters[self.captured.names[local_name(spec.target)]]
                self._pinned[node] = f"parameter '{local_name(spec.target)}'"
            elif spec.kind == InputKind.BUFFER:
                self._buffers[node] = name = local_name(spec.target)
                env[node] = self._state(self.captured.buffers[name], name)
            elif spec.kind == InputKind.CONSTANT_TENSOR:
                given = self.given.get(spec.target)
                env[node] = given or self._state(program.constants[spec.target], local_name(spec.target))
                self._pinned[node] = f"the tensor '{local_name(spec.target)}', which is no input"
            elif spec.kind == InputKind.CUSTOM_OBJ:
                raise HoneError(
                    "model: passes an object that is no tensor to an operator, such as a torch.Generator; the compiled "
                    "program numbers its random draws itself (--seed)"
                )
            else:
                raise HoneError(f"capture: argument '{node.name}' of kind {spec.kind.name} is not supported")
        for node, value in env.items():
            self._memory.define(node, value)
        results = [self._read(x) for x in self._graph(program.graph_module)]
        self.changed_buffers = {self._buffers[node]: self._memory.read(node) for node in self._written}
        return results

    def reads_changes(self, loss: Value) -> bool:
        """Whether the loss depends on what the program wrote to buffers."""
        needed = {loss.id}
        for op in reversed(self.b.ops):
            if any(result.id in needed for result in op.results):
                needed.update(operand.id for operand in op.operands)
        return any(value.id in needed for values in self._written.values() for value in values)

    def _state(self, tensor: torch.Tensor, name: str) -> Value:
        """A buffer or constant: written into the graph where its values follow a rule or are few, else an argument."""
        type = type_of(tensor, name)
        if (owner := shared_with(tensor, self.captured.parameters)) is not None:
            raise HoneError(
                f"buffer '{name}': shares memory with parameter '{owner}', which training changes; clone() it"
            )
        if tensor.is_meta:
            raise HoneError(f"buffer '{name}' has no values (meta device), and the graph needs them")
        if name in self._changing or name in self._moved:
            return self._changing_state(tensor, name, type)
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

    def _changing_state(self, tensor: torch.Tensor, name: str, type: Type) -> Value:
        """A buffer that training changes. Runs start from its present values."""
        if len(values := tensor.unique()) == 1:
            init = {"dist": "constant", "value": float(values)}
        else:
            init = {"dist": "file"}
            self.constants[name] = tensor
        return self.b.argument(type, "buffer", name, init=init)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _graph(self, module: GraphModule, within: Node | None = None) -> list:
        """Imports the nodes of a graph whose placeholders are defined, and returns what it outputs: nodes, mostly.

        `within`: the operator that the graph is the definition of, whose source line its nodes have.
        """
        for node in module.graph.nodes:
            if node.op == "output":
                return flat(node.args[0])
            if node.op == "placeholder":
                continue
            self.b.location = location_of(within or node)
            try:
                self._node(module, node)
            except PlacedError:
                raise
            except HoneError as error:
                if within is not None:
                    raise
                raise PlacedError(placed_at(node, str(error))) from None
        raise AssertionError("a graph without output")

    def _read(self, x: object):
        return self._memory.read(x) if isinstance(x, Node) else x

    def _node(self, module: GraphModule, node: Node) -> None:
        """Defines what a node holds."""
        if node.op == "get_attr":
            return self._attribute(module, node)
        if node.target is operator.getitem:
            return self._item(node)
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._memory.define(node, self._region(node))
        if isinstance(node.target, type) and issubclass(node.target, tuple):  # a named tuple of results
            results = torch.fx.map_arg(node.args, self._memory.read)
            return self._memory.define(node, list(results[0] if isinstance(results[0], (tuple, list)) else results))
        if not isinstance(node.target, torch._ops.OpOverload):
            raise HoneError(f"{name_of(node)} is not a tensor operator")
        if node.target is CUSTOM_GRADIENT:
            return self._memory.define(node, self._custom_gradient(node))
        name = str(node.target).removeprefix("aten.")
        if node.target.namespace != "aten" and name not in TABLE:
            self._check_custom(node)
        if name in BY_VALUE:
            raise PlacedError(placed(BY_VALUE[name], frames_of(node.meta.get("stack_trace"))))
        if name in REFUSED:
            raise HoneError(f"operator aten.{name} is not supported: {REFUSED[name]}")
        if name.startswith("_assert_async"):
            return self._assert(node)
        if name.startswith(("_assert", "sym_constrain", "_functional_assert", "_linalg_check_errors")):
            return self._memory.define(node, None)
        if node.target._schema.is_mutable:
            return self._in_place(name, node)
        self._call(node)
        if name in RUNNING_STATISTICS:
            self._update_statistics(name, node)

    def _check_custom(self, node: Node) -> None:
        """Refuses an operator of a library that has no implementation to trace, writes, or lacks a gradient."""
        custom, name = custom_op_of(node.target), name_of(node)
        if custom is None:
            raise HoneError(
                f"operator {name} is not supported: it has no implementation in Python to trace; give it one with "
                "torch.library.custom_op"
            )
        if node.target._schema.is_mutable:
            raise HoneError(f"operator {name} changes its arguments, which is not supported; return new ones")
        if not has_gradient(custom) and self._wants_gradient(node):
            raise HoneError(f"operator {name} has no gradient; give it one with register_autograd")

    def _wants_gradient(self, node: Node) -> bool:
        operands = (self._memory.read(x) for x in node.all_input_nodes)
        return any(self.b.is_differentiable(x) for x in operands if isinstance(x, Value))

    def _assert(self, node: Node) -> None:
        self._memory.define(node, None)
        message = str(node.args[1]) if len(node.args) > 1 else ""
        self.conditions.add(self._memory.read(node.args[0]), message, frames_of(node.meta.get("stack_trace")))

    def _attribute(self, module: GraphModule, node: Node) -> None:
        attribute = operator.attrgetter(node.target)(module)
        self._pinned[node] = f"the tensor '{local_name(node.target)}', which is no input"
        if isinstance(attribute, torch.Tensor):
            attribute = self._state(attribute, local_name(node.target))
        self._memory.define(node, attribute)

    def _item(self, node: Node) -> None:
        """One of several results of an operator, a definition or a region."""
        source, index = node.args
        value = self._memory.read(source)[index]
        if source in self._outputs:
            return self._define_as(node, self._outputs[source][index], value, source in self._detached)
        viewed = self._viewed(source, (node.meta.get("val"),))
        if viewed is None or not isinstance(value, (Value, Complex)):
            return self._memory.define(node, value)
        function = self._function(source, viewed)
        self._memory.define_view(node, viewed, value, lambda b, x: function(b, x)[index])

    def _define_as(self, node: Node, inner: object, value: object, detaches: bool = False) -> None:
        """A node that is an output of a graph in its place."""
        if isinstance(inner, Node) and isinstance(value, (Value, Complex)):
            self._memory.define_view(node, inner, value, detaches=detaches)
        else:
            self._memory.define(node, value)

    def _call(self, node: Node) -> None:
        """A functional operator."""
        if node.target is torch.ops.aten.as_strided.default:
            _check_in_one_piece(node.args[0].meta["val"])
        result = self._result(node.target, node, self._bound(node))
        self._check(node, result)
        if self._gradient_cut:
            cut = self._memory.without_gradient
            result = [cut(x) for x in result] if isinstance(result, (list, tuple)) else cut(result)
        viewed = self._viewed(node, flat(node.meta.get("val")))
        if node in self._outputs and not isinstance(result, list):
            self._define_as(node, self._outputs[node][0], result)
        elif viewed is not None and isinstance(result, (Value, Complex)):
            detaches = self._gradient_cut or node.target is torch.ops.aten.detach.default
            self._memory.define_view(node, viewed, result, self._function(node, viewed), detaches)
        else:
            self._memory.define(node, result)

    def _custom_gradient(self, node: Node) -> list[Value]:
        """The results of a function with a backward of its own, which becomes the body of the op."""
        values, inputs, saved, number = node.args
        fake = [[x.meta["val"] for x in some] for some in (inputs, values, saved)]
        program = traced_backward(self._calls[number], *fake)
        values, inputs, saved = ([self._memory.read(x) for x in some] for some in (values, inputs, saved))
        if any(isinstance(x, Complex) for x in (*values, *inputs, *saved)):
            raise HoneError("an autograd.Function of complex tensors is not supported")
        constants = [x for x in program.graph_signature.input_specs if x.kind == InputKind.CONSTANT_TENSOR]
        held = [self._state(program.constants[x.target], f"backward{number}.{x.target}") for x in constants]
        names = tuple(x.arg.name for x in program.graph_signature.input_specs if x.kind == InputKind.USER_INPUT)
        captured = replace(self.captured, program=program, inputs=names)

        def backward(body: Builder, cotangents: list[Value], given: list[Value]) -> list[Value]:
            importer = Importer(body, captured)
            importer.given = dict(zip((x.target for x in constants), given[len(given) - len(constants) :]))
            within = given[: len(inputs)], given[len(inputs) : len(given) - len(constants)]
            return importer._run({}, [*within[0], *cotangents, *within[1]])

        return list(self.b.custom_gradient(values, inputs, (*inputs, *saved, *held), backward))

    def _bound(self, node: Node) -> dict:
        args, kwargs = (torch.fx.map_arg(x, self._memory.read) for x in (node.args, node.kwargs))
        return bind(node.target._schema, args, kwargs)

    def _result(self, target: torch._ops.OpOverload, node: Node, bound: dict):
        """What `target` makes of the node's arguments: by its emitter, or by torch's definition of it."""
        name = str(target).removeprefix("aten.")
        if name in TABLE or is_complex_node(node, bound):
            try:
                return self._emitted(name, bound, is_complex_node(node, bound))
            except UseDefinition:
                pass
        return self._by_definition(target, node)

    def _by_definition(self, target: torch._ops.OpOverload, node: Node):
        if target in self._open:  # its definition uses itself
            raise HoneError(f"operator {target} is not supported")
        definition = self._definition(target, node)
        if definition is None:
            raise HoneError(f"operator {target} is not supported")
        self._open.append(target)
        try:
            results = self._inline(node, *definition, node)
        except PlacedError:
            raise
        except HoneError as error:  # the innermost one says what is missing
            missing = error.missing if isinstance(error, _InDefinition) else str(error)
            raise _InDefinition(f"operator {target} is not supported ({missing})", missing) from None
        finally:
            self._open.pop()
        return results if len(target._schema.returns) > 1 or isinstance(node.meta.get("val"), list) else results[0]

    def _definition(self, target: torch._ops.OpOverload, node: Node):
        try:
            with_backward = custom_op_of(target) is not None and self._wants_gradient(node)
            return decomposed(target, node, self._calls if with_backward else None)
        except Exception as error:  # torch's definition does not take these arguments
            raise HoneError(f"operator {target} with these arguments is not supported ({error})") from error

    def _emitted(self, name: str, bound: dict, is_complex: bool = False, builder: Builder | None = None):
        b = builder or self.b
        if is_complex and name not in COMPLEX and name not in PER_PART:
            raise HoneError(f"operator aten.{name} of complex tensors is not supported: write it with real ones")
        try:
            if not is_complex:
                return TABLE[name](b, **bound)
            return COMPLEX[name](b, **bound) if name in COMPLEX else per_part(b, name, bound)
        except (AttributeError, IndexError, TypeError, ValueError) as error:  # a form the emitter does not foresee
            raise HoneError(f"operator aten.{name} with these arguments is not supported ({error})") from error

    def _region(self, node: Node) -> list:
        """The results of a region under no_grad, enable_grad or autocast."""
        name, args = str(node.target), node.args
        if name == "wrap_with_set_grad_enabled":
            outside, self._gradient_cut = self._gradient_cut, not args[0]
            results = self._inline(node, self._memory.read(args[1]), args[2:])
            self._gradient_cut = outside
            if args[0]:
                return results
            self._detached.add(node)
            return [self._memory.without_gradient(x) for x in results]
        if name == "wrap_with_autocast":
            inner = self._memory.read(args[4])
            if args[2]:
                first = next((n for n in inner.graph.nodes if n.op == "call_function"), node)
                raise PlacedError(
                    placed_at(first, "a torch.autocast region is not supported: precision is chosen when compiling")
                )
            return self._inline(node, inner, args[5:])
        raise HoneError(f"operator {name} is not supported")

    def _inline(self, node: Node, module: GraphModule, operands: Sequence[Node], within: Node | None = None) -> list:
        """The values that a graph outputs over nodes from outside it, whose storage its placeholders share."""
        inner = [x for x in module.graph.nodes if x.op == "placeholder"]
        for placeholder, operand in zip(inner, operands):
            self._define_as(placeholder, operand, self._memory.read(operand))
        outputs: list = []
        for x in self._graph(module, within):
            value = self._read(x)
            outputs += flat(value) if isinstance(value, list) else [x]
        self._outputs[node] = outputs
        return [self._read(x) for x in outputs]

    # -- views and in-place operators ---------------------------------------------------------------------------------

    def _viewed(self, node: Node, results: Sequence) -> Node | None:
        """The operand whose storage the results of a node share."""
        if not isinstance(node.target, torch._ops.OpOverload):
            return None
        storages = {storage_of(x) for x in results} - {None}
        return next((x for x in node.all_input_nodes if storage_of(x.meta.get("val")) in storages), None)

    def _function(self, node: Node, viewed: Node):
        """A view operator as a function of the tensor it views, which may be one of a list."""
        name, bound = str(node.target).removeprefix("aten."), self._bound(node)
        is_complex = is_complex_node(node, bound)
        for argument, given in zip(node.target._schema.arguments, node.args):
            if given is viewed:
                return lambda b, x: self._emitted(name, bound | {argument.name: x}, is_complex, b)
            if isinstance(given, (list, tuple)) and viewed in given:
                place, tensors = list(given).index(viewed), list(bound[argument.name])
                listed = lambda x: [*tensors[:place], x, *tensors[place + 1 :]]
                return lambda b, x: self._emitted(name, bound | {argument.name: listed(x)}, is_complex, b)
        raise HoneError(f"operator {node.target} views a tensor that is not among its operands")

    def _in_place(self, name: str, node: Node) -> None:
        """`x.op_(...)` or `op(..., out=x)`: a new value for `x`."""
        target, written = functional_twin(node)
        old = self._memory.read(written)
        if isinstance(old, Complex):
            raise HoneError(f"aten.{name} changes a complex tensor in place, which is not supported")
        if target is torch.ops.aten.detach.default:
            self._memory.define_view(node, written, self._memory.without_gradient(old), detaches=True)
            return self._memory.rename(written, node)
        bound = self._bound(node)
        bound.pop("out", None)
        if target._schema.arguments and node.target._schema.arguments[0].name in bound:
            bound[target._schema.arguments[0].name] = bound.pop(node.target._schema.arguments[0].name)
        if torch.Tag.inplace_view in node.target.tags:
            functional = str(target).removeprefix("aten.")
            function = lambda b, x: self._emitted(functional, bound | {"self": x}, builder=b)
            self._memory.define_view(node, written, function(self.b, old), function)
            return self._memory.rename(written, node)
        if (root := self._memory.root(written)) in self._pinned:
            raise HoneError(f"aten.{name} changes {self._pinned[root]} in place, which is not supported")
        new = self.b.cast(self._result(target, node, bound), old.dtype)
        if new.shape != old.shape:
            raise HoneError(f"aten.{name} does not keep the shape {list(old.shape)}")
        try:
            self._write(written, self._unseen(old, new))
        except HoneError as error:
            raise HoneError(f"aten.{name} {error}") from None
        self._memory.define_view(node, written, self._memory.read(written))

    def _write(self, node: Node, value: Value) -> None:
        root = self._memory.root(node)
        if root in self._inputs:
            self.changed_inputs[self._inputs[root]] = None
        if root in self._buffers:
            if not self._changing.get(self._buffers[root], True):
                value = self.b.select_mode(value, self._memory.read(node))
            self._written.setdefault(root, []).append(value)
        self._memory.write(node, value)

    def _update_statistics(self, name: str, node: Node) -> None:
        """Norms write to their running statistics, which their schemas do not say."""
        bound = self._bound(node)
        for argument, new in RUNNING_STATISTICS[name](self.b, **bound).items():
            index = next(i for i, a in enumerate(node.target._schema.arguments) if a.name == argument)
            self._write(node.args[index], self.b.stop_gradient(self.b.cast(new, bound[argument].dtype)))

    def _unseen(self, old: Value, new: Value) -> Value:
        """What a write leaves. Under no_grad a tensor keeps its gradient, which no graph can say of new values."""
        if not self._gradient_cut:
            return new
        if self.b.is_differentiable(old):
            raise HoneError("changes a tensor that has a gradient under no_grad; write a new tensor")
        return self.b.stop_gradient(new)

    # -- checks -------------------------------------------------------------------------------------------------------

    def _check(self, node: Node, result) -> None:
        """The emitter's result must have the type torch says: a wrong table entry stops here, not in the compiler."""
        for expected, value in zip(flat(node.meta.get("val")), flat(result)):
            if isinstance(expected, torch.Tensor) and isinstance(value, Value):
                wanted = type_of(expected, name_of(node))
                if wanted != value.type:
                    raise HoneError(f"{name_of(node)} was imported as {value.type}, PyTorch makes it {wanted}")
            if isinstance(value, Complex) and tuple(expected.shape) != value.shape:
                made = list(expected.shape)
                raise HoneError(f"{name_of(node)} was imported as {list(value.shape)}, PyTorch makes it {made}")


def _check_in_one_piece(x: torch.Tensor) -> None:
    """That as_strided, which counts places in memory, counts those of the tensor's own elements."""
    if not x.is_contiguous() or x.storage_offset():
        raise HoneError("as_strided of a tensor that is a part or a transpose of another is not supported")
