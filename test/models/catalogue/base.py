"""What an entry of the catalogue is made of: a model, its loss, and how its inputs are drawn.

An entry must be small (one or two layers, width 32 to 64, seconds to compile) and draw no random numbers in forward
(dropout 0), so that PyTorch and the compiled program can be compared number by number.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Callable

import torch

VOCABULARY = 101
CLASSES = 5
BATCH, LENGTH = 2, 16

Draw = Callable[[torch.Generator], torch.Tensor]


@dataclass(frozen=True)
class Trial:
    """A model with what trains it. loss(model, *inputs) is a scalar; its parameters after the model name the inputs,
    each drawn anew for each batch. `rate` is AdamW's learning rate; `frozen` says how export stores weights that are not
    trained."""

    model: torch.nn.Module
    loss: Callable[..., torch.Tensor]
    inputs: tuple[Draw, ...]
    rate: float = 3e-3
    frozen: str | None = None

    @property
    def names(self) -> list[str]:
        return list(inspect.signature(self.loss).parameters)[1 : 1 + len(self.inputs)]

    def batch(self, seed: int) -> tuple[torch.Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        return tuple(draw(generator) for draw in self.inputs)


@dataclass(frozen=True)
class JaxTrial(Trial):
    """The same of JAX: `model` is the pytree of the parameters, loss(params, *inputs) a scalar of JAX."""

    model: Any

    def batch(self, seed: int) -> tuple[torch.Tensor, ...]:
        return tuple(x if x.is_floating_point() else x.int() for x in super().batch(seed))


@dataclass(frozen=True)
class Entry:
    """A row of the catalogue. `make` gives the same trial whenever torch's seed is the same."""

    name: str
    kind: str
    make: Callable[[], Trial]

    @property
    def framework(self) -> str:
        return "JAX" if self.kind == "jax_models" else "PyTorch"


class Entries(dict[str, Entry]):
    """Entries of one kind, that of the module they stand in, by name; a name may be given once."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.kind = module.rpartition(".")[2]

    def add(self, name: str, make: Callable[[], Trial]) -> None:
        if name in self:
            raise ValueError(f"two entries are called {name}")
        self[name] = Entry(name, self.kind, make)

    def entry(self, name: str) -> Callable:
        """Decorator of a function that makes a trial."""

        def add(make: Callable[[], Trial]) -> Callable[[], Trial]:
            self.add(name, make)
            return make

        return add


def ids(*shape: int, below: int = VOCABULARY, first: int = 3) -> Draw:
    """Integers in [first, below); the first three ids are those of padding, start and end."""
    return lambda generator: torch.randint(first, below, shape or (BATCH, LENGTH), generator=generator)


def classes(*shape: int, count: int = CLASSES) -> Draw:
    return ids(*(shape or (BATCH,)), below=count, first=0)


def noise(*shape: int) -> Draw:
    return lambda generator: torch.randn(shape, generator=generator)


def image(size: int = 32, channels: int = 3, batch: int = BATCH) -> Draw:
    return noise(batch, channels, size, size)


def uniform(*shape: int) -> Draw:
    return lambda generator: torch.rand(shape, generator=generator)


def fixed(value: torch.Tensor) -> Draw:
    """The same value in every batch: masks, positions, boxes that a model expects in a certain form."""
    return lambda generator: value.clone()


def token_classification(model: torch.nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """For models of torch.nn that give logits [..., classes] for each token."""
    return torch.nn.functional.cross_entropy(model(tokens).flatten(0, -2), targets.flatten())


def classification(model: torch.nn.Module, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """For models that give logits [batch, classes]."""
    return torch.nn.functional.cross_entropy(model(x), labels)


def regression(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.mse_loss(model(x), y)


def first_output(output: Any) -> torch.Tensor:
    """The first tensor of what a model returns: its hidden states, in most libraries."""
    while not isinstance(output, torch.Tensor):
        output = output[0]
    return output


def mean_square(output: Any) -> torch.Tensor:
    """A loss for models without one: the distance of the first output from a ramp along its last dimension.

    A plain mean would have the same gradient everywhere, which hides gradients that reach the wrong place."""
    output = first_output(output)
    return (output - torch.arange(output.shape[-1]) / output.shape[-1]).square().mean()
