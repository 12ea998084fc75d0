"""Complex tensors as pairs of real ones; compared as in test_aten.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hone.emit import emit  # noqa: E402
from hone.errors import HoneError  # noqa: E402
from test_aten import Case, check, imported, no_input  # noqa: E402

M = (5, 6)


def rotation(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """A rotary embedding as Llama's reference code has it."""
    turned = torch.view_as_complex(x.reshape(5, 3, 2)) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(1)


def arithmetic(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    z = torch.complex(x, y)
    z = (z + 2) * z.conj() * (1 + 2j) - z / 3 + x
    z = z.unsqueeze(0).transpose(1, 2)[:, 1:].reshape(5, 5)
    return [z.real, z.imag, z.abs()]


CASES = {
    "rotation": (rotation, M, (5, 3)),
    "arithmetic": (arithmetic, M, M),
    "fft over two dimensions": (lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, M),
    "fftn": (lambda x: torch.fft.fftn(x, dim=(0, 1)).imag, M),
    "fft longer": (lambda x: torch.view_as_real(torch.fft.fft(x, n=9, norm="ortho")), M),
    "ifft shorter": (lambda x: torch.fft.ifft(x, n=4, dim=0).real, M),
    "rfft": (lambda x: torch.view_as_real(torch.fft.rfft(x, norm="forward")), M),
    "filter of even size": (lambda x, y: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y)), M, M),
    "transforms of torch's own": (
        lambda x: torch.ops.aten._fft_c2r(torch.ops.aten._fft_r2c(x, [0, 1], 1, True), [0, 1], 2, 6), M
    ),
    "padded": (
        lambda x, y: torch.view_as_real(torch.nn.functional.pad(torch.complex(x, y), (1, 2, 0, 1))), M, M
    ),
    "complex product": (lambda x, y: torch.view_as_real(torch.complex(x, y) @ torch.complex(y, x).mT), M, M),
    "product with a real matrix": (lambda x, y: torch.view_as_real(torch.complex(x, y) @ (y.mT + 0j)), M, M),
    "complex einsum": (
        lambda x, y: torch.view_as_real(torch.einsum("ij,kj->ik", torch.complex(x, y), torch.complex(y, x))), M, M
    ),
    "complex einsum of one": (lambda x, y: torch.view_as_real(torch.einsum("ij->j", torch.complex(x, y))), M, M),
    "complex einsum with leading dimensions": (
        lambda x, y: torch.view_as_real(torch.einsum("...i,ij->...j", torch.complex(x, y), torch.complex(x, y).mT)),
        M, M,
    ),
    "filter of odd size": (lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=0) * 2, n=5, dim=0), M),
}


@pytest.mark.parametrize("name", CASES)
def test_matches_pytorch(name: str, verified) -> None:
    function, *shapes = CASES[name]
    verified(emit(check(Case(no_input(function), *shapes))))


def test_other_operators_are_refused() -> None:
    with pytest.raises(HoneError, match="aten.exp.default of complex tensors is not supported"):
        imported(Case(no_input(lambda x: torch.complex(x, x).exp().real), M))
