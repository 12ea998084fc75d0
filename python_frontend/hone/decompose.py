"""Operators that have no emitter, written by torch itself with simpler ones.

Torch keeps two kinds of such definitions: composite operators, whose kernel calls others, and a table of
decompositions; definitions.py adds some that torch lacks, and an operator of `torch.library.custom_op` has the user's own
function. Each is traced for the shapes at hand, and the importer walks the result in place of the operator.
Operators that have an emitter of their own are never decomposed, so that named ops stay whole.
"""

from __future__ import annotations

from typing import Callable

import torch
from torch._decomp import decomposition_table
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from .custom_gradients import Call, custom_op_of, differentiable, implementation_of
from .definitions import defined


def decomposed(
    target: torch._ops.OpOverload, node: Node, calls: list[Call] | None = None
) -> tuple[GraphModule, list[Node]] | None:
    """The graph of `target` with the arguments of `node`, and the nodes that are its inputs; None without a definition.

    `target` is the node's own, or the functional twin of an operator that writes in place or to `out`. The backward of
    an operator of a library, where it counts, is added to `calls`.
    """
    custom = custom_op_of(target)
    if custom is None:
        function = definition_of(target)
    else:
        function = implementation_of(custom) if calls is None else differentiable(custom, calls)
    if function is None:
        return None
    kwargs = {name: value for name, value in node.kwargs.items() if name != "out"}
    leaves, spec = pytree.tree_flatten((node.args, kwargs))
    inputs = [x for x in leaves if isinstance(x, Node)]

    def call(*tensors: torch.Tensor):
        rest = iter(tensors)
        args, kwargs = pytree.tree_unflatten([next(rest) if isinstance(x, Node) else x for x in leaves], spec)
        return function(*_plain(args), **_plain(kwargs))

    examples = [x.meta["val"] for x in inputs]
    mode = next((x.fake_mode for x in examples if hasattr(x, "fake_mode")), None)
    if mode is None:
        return None
    # Without the operators of one library, which definitions choose where it is there.
    with mode, torch.backends.mkldnn.flags(enabled=False):
        return make_fx(call)(*examples), inputs


def _plain(x):
    """With lists that a definition may change, where a graph's arguments hold others."""
    if isinstance(x, dict):
        return {key: _plain(value) for key, value in x.items()}
    return type(x)(map(_plain, x)) if type(x) is tuple else list(map(_plain, x)) if isinstance(x, list) else x


def definition_of(target: torch._ops.OpOverload) -> Callable | None:
    """What writes an operator with simpler ones; None where nothing does."""
    if (own := defined(target)) is not None:
        return own
    if target in decomposition_table:
        return decomposition_table[target]
    if target.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
        return target.decompose
    return None
