"""hone.export: from a PyTorch model to a package."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

import torch

from .assembly import finished, live, take_roles
from .builder import Builder
from .capture import Capture, capture, described
from .errors import HoneError, warn
from .expert_bias import check_biases, checked_rate, count_experts, possible_biases, selected_ids
from .fitted_init import checked_spec, given_spec
from .frozen import Frozen, FrozenLike, read_frozen
from .golden import Feed, golden_steps
from .graph import Graph, Value, is_float, values_with_gradient
from .guards import check_batch, unwrapped
from .id_bounds import safe_bounds
from .importer import Importer, used_parameters
from .init import inferred_spec
from .nodes import type_of
from .optimizer import OptimizerLike, OptimizerSpec, read_optimizer
from .package import WEIGHTS, Tensor, write_package
from .roles import STREAM, described_roles
from .starting_weights import starting_weights
from .version import VERSION


@dataclass(frozen=True)
class Training:
    """A model with its loss, an example batch and an optimizer: what `python -m hone export` asks a function for.

    The fields are those of `export`.
    """

    model: torch.nn.Module
    loss_fn: Callable | None
    example_batch: Sequence[torch.Tensor]
    optimizer: OptimizerLike = None
    clip: float | None = None
    init: Mapping[str, dict] | None = None
    roles: Mapping[str, str] | None = None
    name: str | None = None
    frozen: FrozenLike = None
    expert_bias: float | None = None


@torch.inference_mode(False)
@torch.enable_grad()
def export(
    model: torch.nn.Module,
    loss_fn: Callable | None,
    example_batch: Sequence[torch.Tensor],
    optimizer: OptimizerLike = None,
    out: str = "model.hone",
    init: Mapping[str, dict] | None = None,
    golden: int = 0,
    name: str | None = None,
    clip: float | None = None,
    roles: Mapping[str, str] | None = None,
    weights: bool | None = None,
    frozen: FrozenLike = None,
    expert_bias: float | None = None,
) -> str:
    """Writes the package `out` and returns its path.

    loss_fn(model, *example_batch) gives the scalar loss; None: model(*example_batch) does. Shapes are those of the
    example, and its values do not matter. Parameters keep their names, tied ones the first of theirs.

    optimizer: a torch.optim AdamW, SGD, Adafactor, Muon, or Adam without weight decay, which is read, or a list of
        them, each with parameters of its own, or a dictionary such as {"name": "adamw", "lr": 6e-4, "weight_decay":
        0.1, "beta2": 0.95}. A parameter that no torch optimizer holds is not trained.
    clip: bound of the gradient's global norm.
    init: how a fresh run fills parameters, from name pattern to {"dist": "normal", "mean": 0.0, "std": 0.02},
        {"dist": "uniform", "low", "high"}, {"dist": "constant", "value"} or {"dist": "file"}: its present values,
        which the package then holds. Otherwise inferred from the values.
    roles: from input name to what a token stream feeds it: "tokens", "targets" (one token later), "labels" (the same
        ids as the tokens, for a loss that shifts them itself, as those of transformers do), or "" for an input that is
        given by name. Without it, the first integer input is the tokens, and a second and last one of the same shape,
        by which the loss picks among at least as many classes as there are tokens, the targets; what was inferred is
        printed.
    weights: whether the package holds the model's present weights (model.safetensors), from which runs then start
        unless they are given --fresh or --init. None: where the configuration of the model, or of a module in it,
        names what from_pretrained read it from. Which it was is printed.
    frozen: how weights that are not trained are stored: "bf16", "int8" (LLM.int8()) or "nf4" (QLoRA); or such formats,
        or "keep", by name pattern, of which the first that matches counts. A format alone is for the weights of all
        linear layers but the output layer; bf16 also for tables. The program expands them where it reads them, and the
        package holds their values.
    expert_bias: balances the experts of routers that add a buffer to their scores before they select (as DeepSeek-V3's
        e_score_correction_bias): once per step it grows by expert_bias where an expert was selected by fewer tokens of
        the step than the mean, and shrinks by as much where by more. Which buffers these are is printed.
    golden: also write N eager steps of this model (golden.safetensors); the package holds the weights too.

    Raises HoneError, whose text is one line, where the model cannot be exported; nothing is written then.
    """
    batch = _checked_batch(example_batch)
    if not isinstance(model, torch.nn.Module):
        raise HoneError(f"model: is a {type(model).__name__}, expected a torch.nn.Module")
    model = unwrapped(model)
    rate = None if expert_bias is None else checked_rate(expert_bias)
    if rate is not None and golden:
        raise HoneError("golden: its eager steps do not move the biases of expert_bias=; leave one of them out")
    captured = capture(model, loss_fn, batch)
    spec = read_optimizer(optimizer, captured.parameters, clip)
    patterns = {pattern: checked_spec(given, f"init '{pattern}'") for pattern, given in (init or {}).items()}
    used = used_parameters(captured)
    stored = read_frozen(
        frozen, model, captured.parameters, lambda fqn: fqn in used and not _is_trained(fqn, captured, spec, used)
    )
    title = name or type(model).__name__
    graph, constants = build_graph(model, captured, batch, spec, patterns, roles, title, stored, rate=rate)
    files = {"consts.safetensors": _tensors(constants)}
    from_file = [a.fqn for a in graph.arguments if a.kind == "param" and a.init == {"dist": "file"}]
    kept, reason = starting_weights(model, stored.stored(captured.parameters), from_file, weights, golden)
    files[WEIGHTS] = _tensors(kept)
    if golden:
        files["golden.safetensors"] = _tensors(_golden(graph, model, loss_fn, batch, optimizer, spec, golden, stored))
    write_package(out, graph, _producer(), files)
    inputs = {a.fqn: a.role for a in graph.arguments if a.kind == "input"}
    if roles is None and any(inputs.values()):
        print(f"roles: {described_roles(inputs)}", file=sys.stderr)
    if balanced := [argument.fqn for argument in graph.arguments if argument.balance]:
        print(f"expert_bias: {', '.join(balanced)}", file=sys.stderr)
    for assumption in graph.assumptions:
        print(f"assumed: {assumption}; a batch that answers otherwise has the loss NaN", file=sys.stderr)
    print(f"weights: {reason}", file=sys.stderr)
    if not model.training and any(a.kind == "rng" for a in graph.arguments):
        warn("model: is in evaluation mode, exported in training mode, with its dropout; for none, set the probabilities of its dropouts to 0")
    return out


def build_graph(
    model: torch.nn.Module,
    captured: Capture,
    batch: Sequence[torch.Tensor],
    spec: OptimizerSpec | None,
    init: Mapping[str, dict],
    roles: Mapping[str, str] | None,
    name: str,
    frozen: Frozen | None = None,
    changing: Mapping[str, bool] = {},
    rate: float | None = None,
    biases: frozenset[str] | None = None,
) -> tuple[Graph, dict[str, torch.Tensor]]:
    """The forward graph of a captured program, and the buffers it reads from a file.

    changing: the buffers that the program writes to, as an import of it has found them, and whether evaluation does.
    biases: the buffers that bias a router, as an import has found them; the step moves them by `rate`.
    """
    if biases is None:
        biases = frozenset() if rate is None else possible_biases(captured.buffers)
    b = Builder()
    used = used_parameters(captured)
    parameters = {
        fqn: _parameter(b, fqn, tensor, model, captured, spec, init, used, frozen or Frozen({}, {}))
        for fqn, tensor in captured.parameters.items()
    }
    taken = {*parameters, *captured.buffers, "rng"}
    inputs = [
        b.argument(type_of(x, f"input '{fqn}'"), "input", f"input.{fqn}" if fqn in taken else fqn)
        for fqn, x in zip(captured.inputs, batch)
    ]
    importer = Importer(b, captured, changing, biases)
    loss = importer.run(parameters, inputs)
    if not isinstance(loss, Value) or loss.shape != () or not is_float(loss.dtype):
        seen = loss.type if isinstance(loss, Value) else type(loss).__name__
        raise HoneError(f"loss_fn: returns {seen}, expected a floating-point scalar")
    selected = selected_ids(b, loss, biases)
    if rate is not None:
        check_biases(selected, importer.changed_buffers)
    # What training changes must be arguments from the start, and nothing else.
    if importer.changed_buffers.keys() != changing.keys() or selected.keys() != biases:
        in_evaluation = captured.changed_in_evaluation() if importer.reads_changes(loss) else frozenset()
        changing = {fqn: fqn in in_evaluation for fqn in importer.changed_buffers}
        found = frozenset(selected)
        return build_graph(model, captured, batch, spec, init, roles, name, frozen, changing, rate, found)
    for changed in importer.changed_inputs:
        warn(f"input '{changed}': the program changes it in place; every step begins with the values it is given")
    take_roles(b, captured.inputs, inputs, roles)
    _check_clip(b, loss, captured, spec)
    loss = importer.conditions.checked(b.cast(loss, "f32"))
    counts = count_experts(b, selected, rate)
    changed = importer.changed_buffers | counts
    graph = finished(b, loss, spec, name, changed, tuple(importer.conditions.assumptions))
    return graph, importer.constants


def _check_clip(b: Builder, loss: Value, captured: Capture, spec: OptimizerSpec | None) -> None:
    """Refuses a bound of the norm where parameters get gradients and the optimizer does not hold them: PyTorch counts
    them where the user clips `model.parameters()`, and the program does not make them."""
    if spec is None or "clip" not in spec.attribute:
        return
    reached = values_with_gradient(live(b.ops, loss), loss)
    for argument in b.arguments:
        fqn = argument.fqn
        if argument.kind != "param" or fqn in spec.group_of or argument.value.id not in reached:
            continue
        if fqn in captured.parameters and captured.parameters[fqn].requires_grad:  # else scales of frozen codes
            raise HoneError(
                f"clip: parameter '{fqn}' gets a gradient, and the optimizer does not hold it; expected "
                "requires_grad_(False) on it to leave it out of the norm, or a group with lr=0 to count it"
            )


def _parameter(
    b: Builder,
    fqn: str,
    tensor: torch.nn.Parameter,
    model: torch.nn.Module,
    captured: Capture,
    spec: OptimizerSpec | None,
    init: Mapping[str, dict],
    used: set[str],
    frozen: Frozen,
) -> Value:
    type = type_of(tensor, f"parameter '{fqn}'")
    trained = _is_trained(fqn, captured, spec, used)
    facts: dict[str, Any] = {"aliases": captured.aliases[fqn], "requires_grad": trained}
    if trained and spec is not None:
        facts["param_group"] = spec.group_of[fqn]
    owner = unwrapped(model.get_submodule(fqn.rpartition(".")[0]))
    given = given_spec(dict(init), fqn)
    if given and frozen.formats.get(fqn) in ("int8", "nf4") and given != {"dist": "file"}:
        raise HoneError(f"init: says dist '{given['dist']}' for '{fqn}', which frozen= stores in codes; leave one out")
    facts["init"] = given or inferred_spec(tensor.detach(), fqn, owner)
    return frozen.argument(b, fqn, type, **facts)


def _is_trained(fqn: str, captured: Capture, spec: OptimizerSpec | None, used: set[str]) -> bool:
    tensor = captured.parameters[fqn]
    return tensor.requires_grad and fqn in used and (spec is None or fqn in spec.group_of)


def _checked_batch(batch: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    if not isinstance(batch, (tuple, list)) or not batch:
        raise HoneError(f"example_batch: is a {type(batch).__name__}, expected a tuple of tensors")
    for index, tensor in enumerate(batch):
        if not isinstance(tensor, torch.Tensor):
            raise HoneError(f"example_batch: item {index} is a {type(tensor).__name__}, expected a tensor")
    check_batch(batch)
    for index, tensor in enumerate(batch):
        type_of(tensor, f"example_batch: item {index}")
    # Tensors of its own for each input: torch.export takes one tensor given twice for one input.
    return tuple(tensor.detach().clone() for tensor in batch)


def _golden(
    graph: Graph,
    model: torch.nn.Module,
    loss_fn: Callable | None,
    batch: Sequence[torch.Tensor],
    optimizer: OptimizerLike,
    spec: OptimizerSpec | None,
    steps: int,
    stored: Frozen,
) -> dict[str, torch.Tensor]:
    if any(argument.kind == "rng" for argument in graph.arguments):
        raise HoneError(
            "golden: the model draws random numbers (dropout), and no two frameworks draw the same ones; "
            "export it with dropout 0"
        )
    inputs = [argument for argument in graph.arguments if argument.kind == "input"]
    shifts = {i: STREAM[argument.role][0] for i, argument in enumerate(inputs) if argument.role}
    safe = safe_bounds(graph.ops, graph.arguments)
    bounds = [safe[argument.value.id] for argument in inputs if argument.role and argument.value.id in safe]
    feed = Feed(shifts, min(bounds)) if shifts and bounds else None
    clip = spec.attribute.get("clip") if spec else None
    named = {f"input.{a.fqn}": x for i, (a, x) in enumerate(zip(inputs, batch)) if feed is None or i not in feed.shifts}
    try:
        return named | golden_steps(model, loss_fn, batch, optimizer, clip, steps, feed, stored.values())
    except Exception as error:  # the user's code, running eagerly in single and double precision
        raise HoneError(f"golden: {described(error)}") from error


def _producer() -> dict[str, str]:
    versions = {"hone": VERSION, "python": platform.python_version(), "torch": torch.__version__}
    try:
        import transformers

        versions["transformers"] = transformers.__version__
    except ImportError:
        pass
    return versions


def _tensors(tensors: Mapping[str, torch.Tensor]) -> dict[str, Tensor]:
    return {name: Tensor(type_of(tensor, name), _bytes(tensor)) for name, tensor in tensors.items()}


def _bytes(tensor: torch.Tensor) -> memoryview:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return memoryview((flat if flat.dtype == torch.bool else flat.view(torch.uint8)).numpy()).cast("B")
