"""How frozen weights are stored: as they are, in bf16, or in codes that the program expands where it reads them.

| format | bytes per element | values |
|---|---|---|
| keep | those of its type | as they are |
| bf16 | 2 | rounded to nearest even |
| int8 | 1, and 4 per row | -127 to 127 times the largest magnitude of the row over 127 (LLM.int8(), 2022) |
| nf4 | 1/2, and 4 per block of 64 | one of 16 times the largest magnitude of the block (QLoRA, 2023) |

Codes and scales are bit for bit what bitsandbytes computes for rows of whole blocks, without its second quantisation of
the scales (`bnb_4bit_use_double_quant`).
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Callable, Mapping, Union

import torch

from .builder import Builder
from .errors import HoneError
from .graph import Enum, Type, Value
from .guards import unwrapped
from .nodes import type_of

FrozenLike = Union[str, Mapping[str, str], None]

FORMATS = ("keep", "bf16", "int8", "nf4")
SCALES = ".scales"  # behind the name of a parameter: its scales, whose codes have the parameter's own name

NF4_BLOCK = 64
# The values of 4-bit NormalFloat (Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs", 2023, appendix E).
NF4_VALUES = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)


@dataclass(frozen=True)
class Codes:
    """A matrix [R, C] in codes. `bytes`: [R, C] i8 of int8, [R, ceil(C / 2)] of nf4; `scales`: [R, blocks] f32."""

    format: str
    bytes: torch.Tensor
    scales: torch.Tensor
    block: int
    shape: tuple[int, int]
    dtype: torch.dtype  # of the parameter, and of the values

    def values(self) -> torch.Tensor:
        """What the program computes with: [R, C], of the parameter's type."""
        rows, width = self.shape
        if self.format == "int8":
            picked = self.bytes.float()
        else:
            pairs = self.bytes.view(torch.uint8).int()
            ids = torch.stack([pairs >> 4, pairs & 15], -1).reshape(rows, -1)[:, :width]
            picked = torch.tensor(NF4_VALUES)[ids.long()]
        scales = self.scales.repeat_interleave(self.block, 1)[:, :width]
        return (picked * scales).to(self.dtype)


def encode(weight: torch.Tensor, format: str) -> Codes:
    """The codes of a matrix."""
    weight = weight.detach().cpu()
    wide, (rows, width) = weight.float(), weight.shape
    if format == "int8":
        scales = wide.abs().amax(1, keepdim=True) / 127
        codes = (wide / torch.where(scales > 0, scales, 1)).round().clamp(-127, 127).to(torch.int8)
        return Codes(format, codes, scales, width, (rows, width), weight.dtype)
    blocks = torch.nn.functional.pad(wide, (0, -width % NF4_BLOCK)).reshape(rows, -1, NF4_BLOCK)
    scales = blocks.abs().amax(2)
    table = torch.tensor(NF4_VALUES)
    borders = (table[1:] + table[:-1]) / 2  # the nearest value; of two equally near the lower
    ids = torch.bucketize(blocks / torch.where(scales > 0, scales, 1)[..., None], borders).reshape(rows, -1)
    ids = ids[:, : width + width % 2].to(torch.uint8)
    pairs = (ids[:, 0::2] << 4) | ids[:, 1::2]
    return Codes(format, pairs.contiguous().view(torch.int8), scales, NF4_BLOCK, (rows, width), weight.dtype)


class Frozen:
    """What each frozen parameter of a model is stored as; `formats` names those that are not kept as they are."""

    def __init__(self, formats: Mapping[str, str], parameters: Mapping[str, torch.nn.Parameter]) -> None:
        self.formats = dict(formats)
        self._codes = {
            fqn: encode(parameters[fqn], format) for fqn, format in formats.items() if format in ("int8", "nf4")
        }
        self._rounded = {fqn: parameters[fqn].detach().bfloat16() for fqn, form in formats.items() if form == "bf16"}

    def argument(self, b: Builder, fqn: str, type: Type, **facts) -> Value:
        """The arguments that hold the parameter, and its value in the graph."""
        if fqn in self._rounded:
            stored = b.argument(Type("bf16", type.shape), "param", fqn, **facts)
            return b.cast(stored, type.dtype)
        if fqn not in self._codes:
            return b.argument(type, "param", fqn, **facts)
        codes = self._codes[fqn]
        facts |= {"init": {"dist": "file"}}
        bytes = b.argument(type_of(codes.bytes, fqn), "param", fqn, **facts)
        facts["aliases"] = ()
        scales = b.argument(type_of(codes.scales, fqn), "param", fqn + SCALES, **facts)
        code = Enum("code", codes.format)
        return b.op("dequantize", (bytes, scales), (type,), block=codes.block, code=code)[0]

    def stored(self, parameters: Mapping[str, torch.nn.Parameter]) -> dict[str, torch.Tensor]:
        """The tensors of the package for `parameters`, by name."""
        tensors: dict[str, torch.Tensor] = {}
        for fqn, parameter in parameters.items():
            tensors[fqn] = self._rounded.get(fqn, parameter)
            if fqn in self._codes:
                tensors |= {fqn: self._codes[fqn].bytes, fqn + SCALES: self._codes[fqn].scales}
        return tensors

    def values(self) -> dict[str, torch.Tensor]:
        """What the program computes with in place of the parameters, by name."""
        return self._rounded | {fqn: codes.values() for fqn, codes in self._codes.items()}


def read_frozen(
    frozen: FrozenLike,
    model: torch.nn.Module,
    parameters: Mapping[str, torch.nn.Parameter],
    is_frozen: Callable[[str], bool],
) -> Frozen:
    """How the frozen ones of `parameters` (the model's, by canonical name) are stored. Raises HoneError."""
    held = {fqn: tensor for fqn, tensor in parameters.items() if is_frozen(fqn)}
    if frozen is None:
        return Frozen({}, held)
    if isinstance(frozen, str):
        _check_format(frozen, "frozen")
        chosen = {fqn: frozen for fqn in held if _suits(frozen, fqn, held[fqn], model)}
    elif isinstance(frozen, Mapping):
        chosen = _by_pattern(frozen, held)
    else:
        raise HoneError(f"frozen: is a {type(frozen).__name__}, expected a format or formats by name pattern")
    chosen = {fqn: form for fqn, form in chosen.items() if form != "keep" and not _is_same(form, held[fqn])}
    for fqn, form in chosen.items():
        _check_weight(fqn, held[fqn], form)
    return Frozen(chosen, held)


def _check_format(format: object, where: str) -> None:
    if format not in FORMATS:
        raise HoneError(f"{where}: is {format!r}, expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")


def _by_pattern(patterns: Mapping[str, str], held: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """The format of the first pattern that matches each name."""
    chosen: dict[str, str] = {}
    for pattern, format in patterns.items():
        _check_format(format, f"frozen '{pattern}'")
        found = [fqn for fqn in held if fnmatch.fnmatchcase(fqn, pattern)]
        if not found:
            raise HoneError(
                f"frozen '{pattern}': matches no frozen parameter; expected one of a parameter that the loss depends "
                "on and the optimizer does not hold"
            )
        chosen = {fqn: format for fqn in found} | chosen
    return chosen


def _suits(format: str, fqn: str, tensor: torch.Tensor, model: torch.nn.Module) -> bool:
    """Whether a format that is given for all weights is for this one: bf16 for every float tensor but vectors, codes
    for the weights of linear layers but the output layer's, as bitsandbytes does."""
    if not tensor.is_floating_point() or tensor.dim() < 2:
        return False
    if format in ("keep", "bf16"):
        return True
    owner = unwrapped(model.get_submodule(fqn.rpartition(".")[0]))
    outputs = getattr(model, "get_output_embeddings", None)
    head = getattr(outputs() if callable(outputs) else None, "weight", None)
    # Conv1D is the linear layer of GPT-2 in transformers.
    return (isinstance(owner, torch.nn.Linear) or type(owner).__name__ == "Conv1D") and tensor is not head


def _is_same(format: str, tensor: torch.Tensor) -> bool:
    return format == "bf16" and tensor.dtype == torch.bfloat16


def _check_weight(fqn: str, tensor: torch.Tensor, format: str) -> None:
    found = None
    if not tensor.is_floating_point():
        found = f"holds {str(tensor.dtype).removeprefix('torch.')}"
    elif tensor.is_meta:
        found = "has no values (meta device)"
    elif format != "bf16" and (tensor.dim() != 2 or tensor.numel() == 0):
        found = f"has shape {list(tensor.shape)}"
    elif not bool(tensor.isfinite().all()):
        found = "holds values that are not finite"
    if found is not None:
        what = "a float tensor" if format == "bf16" else "a matrix of floats"
        raise HoneError(f"frozen: parameter '{fqn}' {found}, expected {what} with values for {format}")
