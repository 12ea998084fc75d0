"""What hone.compile returns: a training step, and the state that it trains."""

from __future__ import annotations

import ctypes
import json
import math
import os
from typing import Any, NamedTuple

import torch

from ..errors import HoneError
from ..guards import plain_name, unwrapped
from .library import Facts, NamedTensor, Options, Trainer
from .tensors import StateTensors, exported

_PARAM, _BUFFER, _OPTIMIZER, _INPUT = 0, 1, 2, 4  # Kind of runtime/include/honert/abi.def


class StepResult(NamedTuple):
    """What one step showed. None stands for what the program does not have."""

    step: int  # 1 is the first
    loss: float
    grad_norm: float | None
    lr: float | None
    loss_scale: float | None  # after the step
    skipped: bool  # fp16: gradients overflowed, and only the loss scale changed


class Plan(NamedTuple):
    """What the compiler planned; report.json (docs/report.md) has the rest."""

    peak_bytes: int  # the arena: all memory that a step takes beside the library's workspace
    report: dict


class Step:
    """A compiled training step with its weights and optimizer state.

    step(tokens, targets) makes one step and waits for it. Tensors of NumPy and PyTorch are copied once, from where they
    lie. A program of K > 1 micro-batches takes them with a first dimension of K. An error is a HoneError; wrong inputs
    change nothing.

    params, buffers, optimizer_state: tensors by name, to be read and assigned.
    """

    def __init__(self, folder: str, program: str, options: Options) -> None:
        self.folder = folder  # of the program, its package and its report
        self._trainer = Trainer(os.path.join(folder, program), options)
        self._library, self._handle = self._trainer.library, self._trainer.handle
        entries = self._trainer.tensors()
        self.inputs = tuple(entry.name.decode() for entry in entries if entry.kind == _INPUT)
        self.params = self._tensors(entries, _PARAM)
        self.buffers = self._tensors(entries, _BUFFER)
        self.optimizer_state = self._tensors(entries, _OPTIMIZER)
        self._facts = Facts()
        self._facts_address = ctypes.byref(self._facts)
        self._addresses = (ctypes.c_void_p * len(self.inputs))()

    def _tensors(self, entries: list[NamedTensor], kind: int) -> StateTensors:
        return StateTensors(self._trainer, {i: entry for i, entry in enumerate(entries) if entry.kind == kind})

    # -- steps ------------------------------------------------------------------------------------------------------

    def __call__(self, *tensors: Any, **named: Any) -> StepResult:
        """Inputs in the order of the example batch, or by name, as `step.inputs` has them."""
        held = self._export(tensors, named)
        facts = self._facts
        code = self._library.honert_trainer_step(self._handle, self._addresses, len(held), self._facts_address)
        if code:
            raise HoneError(self._trainer.error)
        skipped = bool(facts.skipped)
        norm = facts.grad_norm if skipped else _present(facts.grad_norm)
        return StepResult(facts.step, facts.loss, norm, _present(facts.lr), _present(facts.loss_scale), skipped)

    def evaluate(self, *tensors: Any, **named: Any) -> float:
        """The loss of one micro-batch, as in validation: nothing is trained, nothing dropped out."""
        held = self._export(tensors, named)
        loss = ctypes.c_double()
        address = ctypes.byref(loss)
        self._trainer.check(self._library.honert_trainer_evaluate(self._handle, self._addresses, len(held), address))
        return loss.value

    def _export(self, tensors: tuple, named: dict) -> list:
        """Puts the inputs' addresses into place; they are valid as long as what is returned."""
        if named or len(tensors) != len(self.inputs):
            tensors = self._ordered(tensors, named)
        held = []
        for index, tensor in enumerate(tensors):
            capsule, self._addresses[index] = exported(tensor, self.inputs[index])
            held.append(capsule)
        return held

    def _ordered(self, tensors: tuple, named: dict) -> list:
        values = dict(zip(self.inputs, tensors))
        expected = f"expected {', '.join(self.inputs)}"
        if len(tensors) > len(self.inputs):
            raise HoneError(f"inputs: {len(tensors)}, {expected}")
        for name, tensor in named.items():
            if name not in self.inputs or name in values:
                raise HoneError(f"input '{name}': {'given twice' if name in values else 'unknown'}, {expected}")
            values[name] = tensor
        for name in self.inputs:
            if name not in values:
                raise HoneError(f"input '{name}': not given, {expected}")
        return [values[name] for name in self.inputs]

    @property
    def steps(self) -> int:
        """Steps made so far; those before a checkpoint that was resumed count."""
        return self._library.honert_trainer_steps(self._handle)

    # -- scalars ----------------------------------------------------------------------------------------------------

    def _get(self, name: str) -> float:
        value = ctypes.c_double()
        self._trainer.check(self._library.honert_trainer_get(self._handle, name.encode(), ctypes.byref(value)))
        return value.value

    def _set(self, name: str, value: float) -> None:
        self._trainer.check(self._library.honert_trainer_set(self._handle, name.encode(), value))

    @property
    def lr(self) -> float:
        """The learning rate of the steps to come."""
        return self._get("lr")

    @lr.setter
    def lr(self, value: float) -> None:
        self._set("lr", value)

    @property
    def weight_decay(self) -> float:
        """That of the steps to come."""
        return self._get("weight_decay")

    @weight_decay.setter
    def weight_decay(self, value: float) -> None:
        self._set("weight_decay", value)

    @property
    def clip(self) -> float:
        """The bound of the gradient norm; 0: none."""
        return self._get("clip")

    @clip.setter
    def clip(self, value: float) -> None:
        self._set("clip", value)

    # -- state ------------------------------------------------------------------------------------------------------

    def load(self, path: str | os.PathLike) -> None:
        """Takes the weights from a safetensors file; optimizer state stays as it is."""
        self._trainer.check(self._library.honert_trainer_load(self._handle, os.fsencode(path)))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the weights to a safetensors file, as --save of the training binary."""
        self._trainer.check(self._library.honert_trainer_save(self._handle, os.fsencode(path)))

    def checkpoint(self) -> None:
        """Writes all of the state to checkpoint_dir= of hone.compile, where resume=True finds it."""
        self._trainer.check(self._library.honert_trainer_checkpoint(self._handle))

    def copy_from(self, model: torch.nn.Module) -> None:
        """Takes the weights of the module that was compiled. Frozen weights that the program keeps in codes stay."""
        for name, tensor in _tensors_of(model):
            for state in (self.params, self.buffers):
                if name in state and not (tensor.is_floating_point() and not state[name].is_floating_point()):
                    state[name] = tensor

    def copy_to(self, model: torch.nn.Module) -> torch.nn.Module:
        """Puts the weights into the module that was compiled, and returns it."""
        with torch.no_grad():
            for name, tensor in _tensors_of(model):
                for state in (self.params, self.buffers):
                    if name in state and not (tensor.is_floating_point() and not state[name].is_floating_point()):
                        tensor.copy_(state[name])
        return model

    # -- what was planned -------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        with open(os.path.join(self.folder, "report", "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        return Plan(report["memory"]["arena"], report)

    def report(self) -> str:
        """The path of the compiler's page about this step: kernels, memory, decisions."""
        return os.path.join(self.folder, "report", "index.html")

    def info(self) -> str:
        """What --info of the training binary prints."""
        return self._library.honert_trainer_info(self._handle).decode()


def _present(value: float) -> float | None:
    return None if math.isnan(value) else value


def _tensors_of(model: torch.nn.Module):
    inner = unwrapped(model)
    for name, tensor in [*inner.named_parameters(), *inner.named_buffers()]:
        yield plain_name(name), tensor
