"""Which inputs a token stream feeds: given by the user, or inferred from how the graph reads them.

The targets of a stream are its ids one position later. A loss that moves its labels itself, as those of transformers
do, would then learn the token after next. So inferred targets are followed from the loss back to the input, and the
logits beside them back to the token they were computed at: the two must be at one position somewhere.
"""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

import numpy as np

from .errors import HoneError
from .graph import Op, Value, is_float

# Role -> how many ids later than the tokens an input is fed, and the role the package gives it.
STREAM = {"tokens": (0, "tokens"), "labels": (0, "tokens"), "targets": (1, "targets")}

_MEANING = {"tokens": "tokens", "labels": "labels (not shifted)", "targets": "targets (next token)"}

_MOST_ROWS = 1 << 16  # of a loss that are followed

Roles = dict[str, str | None]


def given_roles(names: Sequence[str], inputs: Sequence[Value], given: Mapping[str, str]) -> Roles:
    """The user's roles, checked. Where none is the tokens, the first integer input they do not name is."""
    for name, role in given.items():
        if name not in names:
            raise HoneError(f"roles: no input is called '{name}', expected one of {', '.join(names)}")
        if role not in (*STREAM, ""):
            raise HoneError(f"roles: '{name}' has role '{role}', expected one of {', '.join(STREAM)}")
    roles: Roles = {name: given.get(name) or None for name in names}
    stream = [role for role in given.values() if role]
    if stream and "tokens" not in stream:
        rest = (n for n, x in zip(names, inputs) if n not in given and x.dtype in ("i64", "i32"))
        if (first := next(rest, None)) is not None:
            roles[first] = "tokens"
    return roles


def inferred_roles(names: Sequence[str], inputs: Sequence[Value], ops: Sequence[Op]) -> Roles:
    """The first integer input is the tokens. A second and last one of its shape is the targets, if the loss picks
    logits by it, among at least as many as there are tokens. Raises HoneError where the loss, or the model, shifts
    these targets itself."""
    roles: Roles = dict.fromkeys(names)
    integers = [(name, x) for name, x in zip(names, inputs) if x.dtype in ("i64", "i32")]
    if not integers:
        return roles
    tokens = integers[0][1]
    roles[integers[0][0]] = "tokens"
    if len(integers) != 2 or integers[1][1].shape != tokens.shape:
        return roles
    name, targets = integers[1]
    if _are_of_one_vocabulary(ops, tokens, targets):
        if (_Positions(ops, tokens, targets).distance() or 0) > 0:
            raise HoneError(
                f"{name}: the loss shifts them itself, and the targets of a token stream are shifted already; give "
                f'labels={integers[0][0]} with one input, or roles={{"{name}": "labels"}} (the same ids as the tokens)'
            )
        roles[name] = "targets"
    return roles


def described_roles(roles: Roles) -> str:
    return ", ".join(f"{name} -> {_MEANING[role] if role else 'by name'}" for name, role in roles.items())


def _dependents(ops: Sequence[Op], source: Value) -> set[int]:
    found = {source.id}
    for op in ops:
        if any(operand.id in found for operand in op.operands):
            found.update(result.id for result in op.results)
    return found


def _are_of_one_vocabulary(ops: Sequence[Op], tokens: Value, targets: Value) -> bool:
    """Whether the targets choose classes, at least as many as the tokens can be; and are not looked up in a table, as
    what goes into a model is."""
    looked_up, chosen = _sizes(ops, targets)
    tables, ones_of = _sizes(ops, tokens)
    return bool(chosen) and not looked_up and max(chosen) >= max(tables or ones_of, default=0)


def _sizes(ops: Sequence[Op], ids: Value) -> tuple[list[int], list[int]]:
    """How many rows the tables have that `ids` are looked up in, and how many classes they choose from: as targets of
    a cross entropy, or compared with positions along the classes."""
    integers: set[int] = {ids.id}
    counting: dict[int, int] = {}  # positions: how many there are
    rows, classes = [], []
    for op in ops:
        reads = [operand.id in integers for operand in op.operands]
        counts = [counting[operand.id] for operand in op.operands if operand.id in counting]
        if op.name == "embedding" and reads[1]:
            rows.append(op.operands[0].shape[0])
        if op.name == "cross_entropy" and reads[1]:
            classes.append(op.operands[0].shape[-1])
        if op.name == "cmp" and any(reads):
            classes += counts
        kept = {result.id for result in op.results if not is_float(result.dtype) and result.dtype != "i1"}
        if any(reads):
            integers |= kept
        elif op.name == "iota":
            counting |= dict.fromkeys(kept, op.results[0].shape[op.attribute("dim")])
        elif counts:
            counting |= dict.fromkeys(kept, max(counts))
    return rows, classes


class _Positions:
    """Where in the sequence the rows of a loss read the tokens and the targets."""

    def __init__(self, ops: Sequence[Op], tokens: Value, targets: Value) -> None:
        self.ops, self.tokens, self.targets = ops, tokens, targets
        self.producer = {result.id: op for op in ops for result in op.results}
        self.of_tokens, self.of_targets = _dependents(ops, tokens), _dependents(ops, targets)

    def distance(self) -> int | None:
        """The least number of positions by which a target lies behind the token whose logits meet it, or None where
        the graph does not tell."""
        found, first = [], []
        for scores, labels, rows, columns in self._meetings():
            target = self._origin(labels, rows, self.targets, self.of_targets)
            if target is None:
                continue
            index, valid = target
            first.append(int((index[valid] % self.targets.shape[-1]).min()) if valid.any() else 0)
            token = self._origin(scores, columns, self.tokens, self.of_tokens)
            if token is None:
                continue
            length = self.tokens.shape[-1]
            both = valid & token[1] & (index // length == token[0] // length)
            if both.any():
                found.append(int((index - token[0])[both].min()))
        if found:
            return min(found)
        return min(first) if first else None  # no logits can be followed: is the first target read at all?

    def _meetings(self) -> Iterator[tuple[Value, Value, np.ndarray, np.ndarray]]:
        """(logits, labels, flat indices into the labels, into the logits) of each op where the two first meet: the
        cross entropies where there are any, since masks and weights of rows may bring the two together elsewhere."""
        entropies = [op for op in self.ops if op.name == "cross_entropy" and op.operands[1].id in self.of_targets]
        for op in entropies or self.ops:
            if entropies:  # its labels may depend on the tokens too: masked where these are padding
                labels, scores = [op.operands[1]], [x for x in op.operands[:1] if x.id in self.of_tokens]
            else:
                labels = [x for x in op.operands if x.id in self.of_targets and x.id not in self.of_tokens]
                scores = [x for x in op.operands if x.id in self.of_tokens and x not in labels and is_float(x.dtype)]
            if not labels or not scores or is_float(labels[0].dtype) and op.name == "dot_general":
                continue
            if op.name == "cross_entropy":
                rows = _sampled(labels[0].type.numel, 1)
                yield scores[0], labels[0], rows, rows * scores[0].shape[-1]
            elif labels[0].shape == scores[0].shape and scores[0].rank:
                rows = _sampled(labels[0].type.numel, scores[0].shape[-1] if scores[0].rank > 2 else 1)
                yield scores[0], labels[0], rows, rows

    def _origin(self, value: Value, index: np.ndarray, goal: Value, reached: set[int]):
        """Follows elements of `value` back to `goal`: their flat indices there, and which of them get there."""
        valid = np.ones_like(index, dtype=bool)
        while value.id != goal.id:
            op = self.producer[value.id]
            operands = [(k, x) for k, x in enumerate(op.operands) if x.id in reached]
            step = _back(op, value, index, operands)
            if step is None:
                return None
            value, index, inside = step
            valid, index = valid & inside, np.where(inside, index, 0)
        return index, valid


def _sampled(count: int, step: int) -> np.ndarray:
    rows = np.arange(0, count, max(step, 1))
    return rows[:: -(-len(rows) // _MOST_ROWS)] if len(rows) > _MOST_ROWS else rows


def _coordinates(index: np.ndarray, shape: Sequence[int]) -> list[np.ndarray]:
    coordinates = []
    for size in reversed(shape):
        coordinates.insert(0, index % max(size, 1))
        index = index // max(size, 1)
    return coordinates


def _flat(coordinates: Sequence[np.ndarray], shape: Sequence[int], like: np.ndarray) -> np.ndarray:
    index = np.zeros_like(like)
    for coordinate, size in zip(coordinates, shape):
        index = index * size + coordinate
    return index


def _back(op: Op, result: Value, index: np.ndarray, operands: list[tuple[int, Value]]):
    """One op backwards: the operand read, the flat indices in it, and which of them lie inside; or None."""
    everywhere = np.ones_like(index, dtype=bool)
    at, zero = _coordinates(index, result.shape), np.zeros_like(index)
    source = operands[0][1]
    if op.name == "reshape":
        return source, index, everywhere
    if op.name == "embedding":
        ids = op.operands[1]
        return (ids, index // result.shape[-1], everywhere) if ids in [x for _, x in operands] else None
    if op.name == "concat":
        return _back_concat(op, at, index, operands)
    if op.name == "dot_general":
        return _back_dot(op, at, index, operands)
    if op.name == "transpose":
        permutation = op.attribute("permutation")
        moved = [at[permutation.index(d)] for d in range(source.rank)]
    elif op.name == "broadcast":
        moved = [at[d] for d in op.attribute("dims")]
    elif op.name == "slice":
        moved = [s + i * t for i, s, t in zip(at, op.attribute("starts"), op.attribute("strides"))]
    elif op.name == "pad":
        moved = [i - low for i, low in zip(at, op.attribute("low"))]
        if any(op.attribute("interior")):
            return None
        for i, size in zip(moved, source.shape):
            everywhere = everywhere & (i >= 0) & (i < size)
    elif op.name == "reduce":
        kept = iter(at)
        moved = [zero if d in op.attribute("dims") else next(kept) for d in range(source.rank)]
    elif op.name == "attention" and operands[0][0] == 0:
        moved = [*at[:-1], zero]
    else:  # elementwise, or along rows: the operand that was made first is the shortest way back
        same = [x for _, x in operands if x.shape == result.shape]
        return (min(same, key=lambda x: x.id), index, everywhere) if same else None
    return source, _flat(moved, source.shape, index), everywhere


def _back_concat(op: Op, at: list[np.ndarray], index: np.ndarray, operands: list[tuple[int, Value]]):
    """Into the operand that most of the elements come from."""
    dim, best = op.attribute("dim"), None
    for k, source in operands:
        moved = list(at)
        moved[dim] = at[dim] - sum(x.shape[dim] for x in op.operands[:k])
        inside = (moved[dim] >= 0) & (moved[dim] < source.shape[dim])
        if best is None or inside.sum() > best[2].sum():
            best = source, _flat(moved, source.shape, index), inside
    return best


def _back_dot(op: Op, at: list[np.ndarray], index: np.ndarray, operands: list[tuple[int, Value]]):
    """Into the operand that tells most of the elements apart: the one that has rows rather than columns."""
    names = (("lhs_batch", "lhs_contract"), ("rhs_batch", "rhs_contract"))
    free = len(op.operands[0].shape) - len(op.attribute("lhs_contract"))
    best = None
    for k, source in operands:
        batch, contract = (op.attribute(name) for name in names[k])
        rest = iter(at[len(batch) : free] if k == 0 else at[free:])
        zero = np.zeros_like(index)
        moved = [
            at[batch.index(d)] if d in batch else zero if d in contract else next(rest) for d in range(source.rank)
        ]
        flat = _flat(moved, source.shape, index)
        if best is None or len(np.unique(flat)) > len(np.unique(best[1])):
            best = source, flat, np.ones_like(index, dtype=bool)
    return best
