"""Branches and numbers that depend on the values of tensors: answered as the example batch answers them, and checked.

A graph holds one side of a branch. Where tracing alone cannot know which, the program runs once eagerly on the example
batch, each question to a tensor (`if mask.all()`, `item()`) is recorded with its line, and a second trace takes the
answers. The question stays in the graph: the loss of a batch that answers otherwise is NaN, which ends a run.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import linecache
import math
import sys
import traceback
from typing import Any, Callable, Iterator, Sequence

import torch
from torch._subclasses import FakeTensor

from .source import is_of_torch, placed

Place = tuple[str, str, int]  # the function that asks, file and line

# Who asks a tensor: the methods and functions that are replaced while it matters, and what kind of answer each gives.
_T = torch.Tensor
_ASKING = (
    *((_T, "__bool__", "bool"), (_T, "is_nonzero", "bool"), (_T, "item", "item"), (_T, "__int__", "int")),
    *((_T, "__index__", "int"), (_T, "__float__", "float"), (_T, "equal", "equal"), (_T, "allclose", "allclose")),
    *((torch, "is_nonzero", "bool"), (torch, "equal", "equal"), (torch, "allclose", "allclose")),
)
# What the message of an assertion in the graph begins with, if it is one of ours; the second for a float, which
# another batch would hardly repeat.
ASSUMED, FIXED = "assumed: ", "fixed: "


class Answers:
    """What the example batch answered, per place in order."""

    def __init__(self) -> None:
        self._by_place: dict[Place, collections.deque] = collections.defaultdict(collections.deque)

    def add(self, place: Place, answer: Any) -> None:
        self._by_place[place].append(answer)

    @contextlib.contextmanager
    def replayed(self) -> Iterator[None]:
        """While open, tensors without values answer as recorded, and a quotient of numbers is one."""
        waiting = {place: collections.deque(answers) for place, answers in self._by_place.items()}

        def answering(kind: str, original: Callable) -> Callable:
            def answered(*args, **kwargs):
                answers = waiting.get(_place(kind))
                answer = answers.popleft() if answers else None
                if answer is None or not any(isinstance(x, FakeTensor) for x in args):
                    return original(*args, **kwargs)
                return _assumed(kind, args, kwargs, answer)

            return answered

        with _replaced(answering), _replaced_attribute(torch, "div", _dividing(torch.div)):
            yield


def recorded(run: Callable[[], Any]) -> Answers | None:
    """The answers of an eager run; None where it fails, or nothing was asked."""
    answers = Answers()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad(), _recording(answers):
            run()
    except Exception:  # the user's code: what tracing found is the better message
        return None
    return answers


def private_copy(model: torch.nn.Module) -> torch.nn.Module:
    """A copy whose state an eager run may change; the parameters are the model's own."""
    return copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})


@contextlib.contextmanager
def _recording(answers: Answers) -> Iterator[None]:
    def listening(kind: str, original: Callable) -> Callable:
        def listened(*args, **kwargs):
            result = original(*args, **kwargs)
            answers.add(_place(kind), result)
            return result

        return listened

    with _replaced(listening):
        yield


@contextlib.contextmanager
def _replaced(made: Callable[[str, Callable], Callable]) -> Iterator[None]:
    """While open, each function of _ASKING is what `made` makes of its kind and itself."""
    with contextlib.ExitStack() as stack:
        for owner, name, kind in _ASKING:
            stack.enter_context(_replaced_attribute(owner, name, made(kind, getattr(owner, name))))
        yield


@contextlib.contextmanager
def _replaced_attribute(owner: object, name: str, value: Callable) -> Iterator[None]:
    own = owner.__dict__.get(name)  # None: inherited
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, own) if own is not None else delattr(owner, name)


def _dividing(original: Callable) -> Callable:
    def div(*args, **kwargs):
        numbers = all(isinstance(x, int) for x in args)
        return _quotient(*args, **kwargs) if numbers else original(*args, **kwargs)

    return div


def _quotient(x: int, y: int, rounding_mode: str | None = None) -> float | int:
    """What torch.div makes a tensor of, as the number it is: sizes are made so, and are read without a question."""
    if rounding_mode is None:
        return x / y
    return x // y if rounding_mode == "floor" else int(math.copysign(abs(x) // abs(y), x * y))


def _assumed(kind: str, args: Sequence, kwargs: dict, answer: Any) -> Any:
    """The answer, and in the graph an assertion that it holds."""
    x = args[0]
    if kind in ("equal", "allclose"):
        same = (x == args[1]).all() if kind == "equal" else torch.isclose(*args, **kwargs).all()
        holds = same == answer
    else:
        holds = (x.reshape(()) != 0) == answer if kind == "bool" else x.reshape(()) == answer
    torch._assert_async(holds, (FIXED if type(answer) is float else ASSUMED) + _described(answer))
    return answer


def _described(answer: Any) -> str:
    """The line that asks, and the answer."""
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_stack()]
    file, line = next((x for x in reversed(frames) if x[0] != __file__ and not is_of_torch(x[0])), ("", 0))
    return placed(f"`{linecache.getline(file, line).strip()}` asks, and the answer is {answer}", frames)


def _place(kind: str) -> Place:
    """The kind of a question, and the line that asks it, which may be torch's own."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ or frame.f_code.co_name == "__torch_function__":
        frame = frame.f_back
    return kind, frame.f_code.co_filename, frame.f_lineno
