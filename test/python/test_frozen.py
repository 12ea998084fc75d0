"""Frozen weights in fewer bits: their codes, what a run computes with them, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
numpy = pytest.importorskip("numpy")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

import hone  # noqa: E402
from hone import frozen  # noqa: E402

HONEC = os.path.join(ROOT, "build", "bin", "honec")
HONE_RUN = os.path.join(ROOT, "build", "bin", "hone-run")
needs_tools = pytest.mark.skipif(
    not (os.path.exists(HONEC) and os.path.exists(HONE_RUN)), reason="honec and hone-run are not built"
)

VOCAB, BATCH, LENGTH = 64, 2, 12
Q_PROJ = "base_model.model.model.layers.0.self_attn.q_proj.base_layer.weight"
HEAD = "base_model.model.lm_head.weight"
TABLE = "base_model.model.model.embed_tokens.weight"


def lora() -> torch.nn.Module:
    """Llama with adapters that are off zero; rows of 64 and of 88 elements, one block of nf4 and a part of one."""
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=64,
        intermediate_size=88,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
        initializer_range=0.1,
    )
    adapters = peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config), adapters)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def ids() -> torch.Tensor:
    return torch.randint(VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))


def loss_of(model, input_ids):
    return model(input_ids=input_ids, labels=input_ids).loss


def adamw(model: torch.nn.Module) -> torch.optim.AdamW:
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)


def exported(model: torch.nn.Module, folder, **options) -> str:
    options = {"roles": {"input_ids": ""}} | options
    return hone.export(model, loss_of, (ids(),), adamw(model), out=str(folder / "m.hone"), **options)


def losses(command: list, folder) -> torch.Tensor:
    """Of ten steps, on the same batch."""
    numpy.save(folder / "ids.npy", ids().numpy())
    words = [*command, "--input", f"input_ids={folder}/ids.npy", "--steps", "10", "--quiet", "--log", folder / "log"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return torch.tensor([line["loss"] for line in lines if "loss" in line])


# -- codes ---------------------------------------------------------------------------------------------------------


def test_the_compiler_has_the_same_values_of_nf4() -> None:
    text = open(os.path.join(ROOT, "include", "hone", "IR", "WeightCode.h")).read()
    table = text[text.index("nf4Values = {") : text.index("};")]
    assert tuple(float(number) for number in re.findall(r"(-?\d\.\d+)f", table)) == frozen.NF4_VALUES


def test_values_of_nf4_are_quantiles() -> None:
    """Appendix E of the paper: 8 quantiles of the normal distribution on one side, 9 on the other, zero once, over the
    largest; the offset is that of the published implementation."""
    offset = (0.9677083 + 0.9) / 2 + (0.9677083 - 0.9) / 2
    quantile = torch.distributions.Normal(0.0, 1.0).icdf
    above = quantile(torch.linspace(offset, 0.5, 9, dtype=torch.float64)[:-1])
    below = -quantile(torch.linspace(offset, 0.5, 8, dtype=torch.float64)[:-1])
    values = torch.cat([above, torch.zeros(1, dtype=torch.float64), below]).sort().values
    # The offset is published with seven digits.
    torch.testing.assert_close(values / values.max(), torch.tensor(frozen.NF4_VALUES, dtype=torch.float64), rtol=0,
                               atol=1e-6)


@pytest.mark.parametrize("width", [64, 65, 128, 200, 7])
def test_nf4_takes_the_nearest_value_of_each_block(width: int) -> None:
    weight = torch.randn(5, width, generator=torch.Generator().manual_seed(width))
    weight[1] = 0
    codes = frozen.encode(weight, "nf4")
    assert codes.bytes.shape == (5, (width + 1) // 2) and codes.bytes.dtype == torch.int8
    assert codes.scales.shape == (5, -(-width // 64))
    table, found = torch.tensor(frozen.NF4_VALUES), codes.values()
    for row in range(5):
        for block in range(-(-width // 64)):
            part = slice(64 * block, min(64 * (block + 1), width))
            largest = weight[row, part].abs().max()
            assert codes.scales[row, block] == largest
            distances = (weight[row, part, None] - table * largest).abs()
            torch.testing.assert_close((found[row, part] - weight[row, part]).abs(), distances.min(1).values)
    assert found[1].eq(0).all()


def test_nf4_packs_the_first_element_into_the_high_bits() -> None:
    codes = frozen.encode(torch.tensor([[-2.0, 2.0, 0.0, 1.125234]]), "nf4")
    assert codes.bytes.view(torch.uint8).tolist() == [[0x0F, 0x7D]]
    torch.testing.assert_close(codes.values(), torch.tensor([[-2.0, 2.0, 0.0, 1.125234]]))


def test_int8_is_that_of_rows() -> None:
    weight = torch.randn(6, 33, generator=torch.Generator().manual_seed(0))
    weight[2] = 0
    codes = frozen.encode(weight, "int8")
    largest = weight.abs().amax(1, keepdim=True)
    assert torch.equal(codes.scales, largest / 127)
    assert codes.bytes.abs().amax(1).tolist() == [127, 127, 0, 127, 127, 127]
    assert ((codes.values() - weight).abs() <= largest / 127 * 0.5001).all()


# -- runs ----------------------------------------------------------------------------------------------------------


@needs_tools
@pytest.mark.parametrize("format", ["bf16", "int8", "nf4"])
def test_lora_trains_as_pytorch_does_on_the_stored_weights(format: str, tmp_path) -> None:
    model = lora()
    out = exported(model, tmp_path, frozen=format, golden=10, weights=True, clip=0.5)
    stored = safetensors.load_file(os.path.join(out, "model.safetensors"))
    assert stored[Q_PROJ].dtype == (torch.bfloat16 if format == "bf16" else torch.int8)
    assert stored[HEAD].dtype == stored[TABLE].dtype == (torch.bfloat16 if format == "bf16" else torch.float32)
    # Eager PyTorch, with the weights' stored values in their place.
    held = {fqn: p for fqn, p in model.named_parameters() if stored[fqn].dtype != p.dtype}
    with torch.no_grad():
        for fqn, parameter in held.items():
            parameter.copy_(stored[fqn] if format == "bf16" else frozen.encode(parameter, format).values())
    optimizer, expected = adamw(model), []
    for _ in range(10):
        optimizer.zero_grad()
        loss = loss_of(model, ids())
        loss.backward()
        torch.nn.utils.clip_grad_norm_((p for p in model.parameters() if p.requires_grad), 0.5)
        optimizer.step()
        expected.append(loss.detach())
    expected = torch.stack(expected)
    torch.testing.assert_close(safetensors.load_file(os.path.join(out, "golden.safetensors"))["loss"], expected)
    subprocess.run([HONEC, out, "-o", tmp_path / "train"], check=True, capture_output=True)
    assert expected[-1] < expected[0] - 1
    for command in ([tmp_path / "train"], [HONE_RUN, out]):
        torch.testing.assert_close(losses(command, tmp_path), expected, rtol=1e-5, atol=1e-5)


@needs_tools
@pytest.mark.parametrize("format", ["bf16", "nf4"])
def test_the_plan_holds_the_stored_weights_and_one_expanded(format: str, tmp_path) -> None:
    model = lora()
    out = exported(model, tmp_path, frozen=format, weights=True)
    command = [HONEC, out, "--dry-run", f"--report={tmp_path}"]
    subprocess.run(command, check=True, capture_output=True)
    memory = json.loads((tmp_path / "report.json").read_text())["memory"]
    stored = safetensors.load_file(os.path.join(out, "model.safetensors"))
    sizes = [tensor.numel() * tensor.element_size() for tensor in stored.values()]
    # Every tensor begins at a multiple of 256 bytes, several packed ones together.
    assert sum(sizes) <= memory["state"]["param"] <= sum(-(-size // 256) * 256 for size in sizes)
    op = "cast" if format == "bf16" else "dequantize"
    expanded = [tensor for tensor in memory["tensors"] if tensor["name"].startswith(op)]
    linear = [p.numel() for fqn, p in model.named_parameters() if ".base_layer.weight" in fqn]
    assert sum(tensor["count"] * tensor["bytes"] for tensor in expanded) <= 4 * max(linear)


@needs_tools
def test_a_trained_result_loads_beside_the_weights_that_stay(tmp_path) -> None:
    model = lora()
    before = {fqn: p.detach().clone() for fqn, p in model.named_parameters()}
    out = exported(model, tmp_path, frozen="nf4", weights=True)
    losses([HONE_RUN, out, "--save", tmp_path / "saved.safetensors"], tmp_path)
    hone.load(model, str(tmp_path / "saved.safetensors"))
    for fqn, parameter in model.named_parameters():
        assert torch.equal(parameter, before[fqn]) != parameter.requires_grad, fqn


# -- choices -------------------------------------------------------------------------------------------------------


def formats(package: str) -> dict[str, str]:
    """Element types of the arguments, by name."""
    with open(os.path.join(package, "manifest.json")) as file:
        return {entry["fqn"]: entry["dtype"] for entry in json.load(file)["arguments"]}


def test_formats_by_name(tmp_path) -> None:
    found = formats(exported(lora(), tmp_path, frozen={"*q_proj*": "int8", "*.layers.*_proj*": "nf4", HEAD: "bf16"}))
    assert found[Q_PROJ] == "i8" and found[Q_PROJ + ".scales"] == "f32"
    assert (found[HEAD], found[TABLE]) == ("bf16", "f32")
    assert sum(type == "i8" for type in found.values()) == 14


def test_weights_in_bf16_need_no_file(tmp_path) -> None:
    out = exported(lora(), tmp_path, frozen="bf16")
    assert formats(out)[TABLE] == "bf16" and not os.path.exists(os.path.join(out, "model.safetensors"))


REFUSED = {
    "fp4": "frozen: is 'fp4', expected keep, bf16, int8 or nf4",
    4: "frozen: is a int, expected a format or formats by name pattern",
    ("*q_proj*", "int4"): "frozen '*q_proj*': is 'int4', expected keep, bf16, int8 or nf4",
    ("*lora_A*", "nf4"): "frozen '*lora_A*': matches no frozen parameter; expected one of a parameter that the loss "
    "depends on and the optimizer does not hold",
    ("*.norm.weight", "nf4"): "frozen: parameter 'base_model.model.model.norm.weight' has shape [64], expected a "
    "matrix of floats with values for nf4",
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_refused(wrong, tmp_path) -> None:
    given = dict([wrong]) if isinstance(wrong, tuple) else wrong
    with pytest.raises(hone.HoneError, match="^" + re.escape(REFUSED[wrong]) + "$"):
        exported(lora(), tmp_path, frozen=given)


def test_a_distribution_for_codes_is_refused(tmp_path) -> None:
    init = {Q_PROJ: {"dist": "normal", "mean": 0.0, "std": 0.1}}
    with pytest.raises(hone.HoneError, match="^" + re.escape(
            f"init: says dist 'normal' for '{Q_PROJ}', which frozen= stores in codes; leave one out")):
        exported(lora(), tmp_path, frozen="nf4", init=init)


def test_the_command_line_chooses_over_the_training(tmp_path, capsys) -> None:
    from hone.__main__ import main

    source = tmp_path / "case.py"
    source.write_text(
        "import sys\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "import hone\nfrom test_frozen import adamw, ids, lora, loss_of\n"
        "def tuned():\n    model = lora()\n"
        '    return hone.Training(model, loss_of, (ids(),), adamw(model), roles={"input_ids": ""}, frozen="int8")\n'
    )
    for flags, type in ((["--frozen=bf16"], "bf16"), ([], "i8")):
        assert main(["export", f"{source}:tuned", "-o", str(tmp_path / "m.hone"), *flags]) == 0
        assert formats(str(tmp_path / "m.hone"))[Q_PROJ] == type
    assert main(["export", f"{source}:tuned", "--frozen=q4", "-o", str(tmp_path / "m.hone")]) == 1
    assert capsys.readouterr().err.endswith("error: frozen: is 'q4', expected keep, bf16, int8 or nf4\n")
