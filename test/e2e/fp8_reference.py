"""Codes of fp8 and their scales in PyTorch's tensor ops: what hone.quantize is compared with.

Written from the op's description, with PyTorch's own conversion to eight bits, and shares no code with the compiler.
"""

from __future__ import annotations

import math

import torch

TENSOR, ROW128, BLOCK128, ROW32 = (0, 0), (1, 128), (128, 128), (1, 32)
TILES = (TENSOR, ROW128, BLOCK128, ROW32)
FORMATS = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2}
TOP = {"f8E4M3FN": 8, "f8E5M2": 15}  # the largest number is 1.75 times 2 to this


def tile_amax(x: torch.Tensor, tile: tuple[int, int]) -> torch.Tensor:
    """The largest magnitude of each tile of a matrix [rows, columns]; NaN if one of its elements is."""
    rows, columns = tile if tile != TENSOR else x.shape
    down, across = math.ceil(x.shape[0] / rows), math.ceil(x.shape[1] / columns)
    whole = torch.zeros(down * rows, across * columns, dtype=torch.float64)
    whole[: x.shape[0], : x.shape[1]] = x.double().abs()
    return whole.reshape(down, rows, across, columns).amax(dim=(1, 3))


def exponents(amax: torch.Tensor, form: str) -> torch.Tensor:
    """e of the scale 2^e of each tile; 0 where no tile has a finite amax above 0."""
    half, exponent = torch.frexp(amax)  # amax = half * 2^exponent, 0.5 <= half < 1
    e = exponent - 1 - TOP[form] + (half > 0.875).int()
    return torch.where(torch.isfinite(amax) & (amax != 0), e.clamp(-126, 127), torch.zeros_like(e))


def expand(tiles: torch.Tensor, tile: tuple[int, int], shape: torch.Size) -> torch.Tensor:
    """What belongs to each element."""
    rows, columns = tile if tile != TENSOR else shape
    return tiles.repeat_interleave(rows, 0).repeat_interleave(columns, 1)[: shape[0], : shape[1]]


def quantize(x: torch.Tensor, tile: tuple[int, int], form: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes of a matrix, and the exponent of each tile as a double: NaN where its amax is not finite."""
    amax = tile_amax(x, tile)
    e = exponents(amax, form)
    largest = torch.finfo(FORMATS[form]).max
    scaled = torch.ldexp(x.double(), -expand(e, tile, x.shape)).clamp(-largest, largest)
    codes = scaled.float().to(FORMATS[form])
    return codes, torch.where(torch.isfinite(amax), e.double(), torch.full_like(amax, torch.nan))


def fake(x: torch.Tensor, tile: tuple[int, int], form: str = "f8E4M3FN") -> torch.Tensor:
    """Codes times their scales, in double: what a product of codes multiplies."""
    codes, e = quantize(x, tile, form)
    return codes.double() * torch.exp2(expand(e, tile, x.shape))


def layout(e: torch.Tensor, tile: tuple[int, int]) -> torch.Tensor:
    """Scales [tiles down, across] as they lie in memory, flat; UE8M0 as signed bytes for tiles of 32."""
    down, across = e.shape
    if tile == TENSOR:
        return torch.exp2(e).flatten()
    if tile == ROW128:
        return torch.exp2(e).T.flatten()
    if tile == BLOCK128:
        whole = torch.zeros(down, math.ceil(across / 4) * 4, dtype=torch.float64)
        whole[:, :across] = torch.exp2(e)
        return whole.flatten()
    biased = torch.where(torch.isnan(e), torch.full_like(e, 255.0), e + 127)
    whole = torch.zeros(math.ceil(down / 128) * 128, math.ceil(across / 4) * 4, dtype=torch.float64)
    whole[:down, :across] = biased
    # Groups of 128 x 4, row-major; inside, row r and column c are at (r % 32) * 16 + (r / 32) * 4 + c.
    groups = whole.reshape(whole.shape[0] // 128, 4, 32, whole.shape[1] // 4, 4).permute(0, 3, 2, 1, 4)
    signed = groups.flatten()
    return torch.where(signed > 127, signed - 256, signed)
