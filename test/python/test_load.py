"""hone.load: weights back into the module they came from."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

import hone  # noqa: E402
from bigram import IDS, Net, loss  # noqa: E402
from hone.errors import HoneError  # noqa: E402


def saved(tmp_path, **changes) -> str:
    """A file with the weights of another Net; a change of None removes a tensor."""
    torch.manual_seed(1)
    tensors = {name: p.detach().clone() for name, p in Net().named_parameters()} | changes
    path = str(tmp_path / "w.safetensors")
    safetensors.save_file({name: t for name, t in tensors.items() if t is not None}, path)
    return path


def test_round_trip_keeps_ties(tmp_path) -> None:
    path, model = saved(tmp_path), Net()
    assert hone.load(model, path) is model
    stored = safetensors.load_file(path)
    assert all(torch.equal(p, stored[name]) for name, p in model.named_parameters())
    assert model.head.weight is model.table.weight


def test_any_name_of_a_tied_parameter_will_do(tmp_path) -> None:
    table = torch.full((11, 6), 0.25)
    path = saved(tmp_path, **{"table.weight": None, "head.weight": table})
    assert torch.equal(hone.load(Net(), path).table.weight, table)


def test_exported_weights_load(tmp_path) -> None:
    first, second = Net(), Net()
    hone.export(first, loss, (IDS, IDS.clone()), out=str(tmp_path / "m.hone"), weights=True)
    hone.load(second, str(tmp_path / "m.hone" / "model.safetensors"))
    assert torch.equal(first(IDS), second(IDS))


def test_pytorch_loads_the_same_file(tmp_path) -> None:
    path, one, two = saved(tmp_path), Net(), Net()
    hone.load(one, path)
    two.load_state_dict(safetensors.load_file(path), strict=False)
    assert torch.equal(one(IDS), two(IDS))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"mix.bias": None}, "has no tensor 'mix.bias'"),
        ({"mix.bias": torch.zeros(7)}, r"tensor 'mix.bias' has shape \[7\], the model's has \[6\]"),
        ({"extra": torch.zeros(1)}, "tensor 'extra' is no parameter"),
    ],
)
def test_what_does_not_fit_changes_nothing(tmp_path, changes: dict, message: str) -> None:
    model = Net()
    before = {name: p.clone() for name, p in model.named_parameters()}
    with pytest.raises(HoneError, match=message):
        hone.load(model, saved(tmp_path, **changes))
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 64])
def test_unreadable_files(tmp_path, content) -> None:
    path = tmp_path / "w.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HoneError, match="w.safetensors: cannot be read as safetensors") as error:
        hone.load(Net(), str(path))
    assert "\n" not in str(error.value)
