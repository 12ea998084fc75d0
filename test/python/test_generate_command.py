"""A Hugging Face folder from text to text by the command line alone, beside PyTorch and transformers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
np = pytest.importorskip("numpy")

SENTENCES = "The cat sat on the mat. A dog ran to the door, and the cat saw it.\n"
RUN = """
model = "base"
[data]
train = "data/train*.npy"
val = "data/val*.npy"
[compile]
batch = "4x32"
[train]
steps = 40
lr = 1e-2
threads = 1
"""


def losses(log: Path) -> list[float]:
    return [row["loss"] for row in map(json.loads, log.read_text().splitlines()) if "loss" in row]


@pytest.fixture
def ready(hone):
    """A folder that save_pretrained wrote, a text and a run file."""
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    dropouts = {f"{name}_pdrop": 0.0 for name in ("attn", "embd", "resid")}
    sizes = {"vocab_size": 320, "n_positions": 32, "n_layer": 1, "n_head": 2, "n_embd": 32}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **ends, **dropouts)).save_pretrained(
        hone.folder / "base"
    )
    hone.write("text.txt", SENTENCES * 200)
    hone.write("run.toml", RUN)
    return hone


def test_from_text_to_text(ready, capsys, monkeypatch) -> None:
    """Three commands, and the text is what transformers generate from the weights of the run."""
    from hone.cli import main

    def generated(*words: str, run: str = "run", in_torch: bool = False) -> str:
        """In this process, which has imported torch."""
        assert main(["generate", f"runs/{run}", *words]) == 0
        out, err = capsys.readouterr()
        assert ("generating in PyTorch: " in err) == in_torch
        return out

    monkeypatch.chdir(ready.folder)
    ready("tokens", "text.txt", "--train-bpe", "320", "-o", "data")
    done = ready("train", "run.toml")
    assert re.search(r"weights: .*base\.hone/model\.safetensors", done.stdout)
    text = generated("--prompt", "The cat", "-n", "20", "--temperature", "0")
    seen = losses(ready.folder / "runs/run/log.jsonl")
    assert seen[-1] < seen[0] / 2

    import tokenizers
    from safetensors.torch import load_file

    tokenizer = tokenizers.Tokenizer.from_file(str(ready.folder / "data/tokenizer.json"))
    model = transformers.GPT2LMHeadModel.from_pretrained(ready.folder / "base").eval()
    weights = load_file(ready.folder / "runs/run/weights.safetensors")
    assert not model.load_state_dict(weights, strict=False).unexpected_keys
    prompt = torch.tensor([tokenizer.encode("The cat").ids])
    with torch.no_grad():
        ids = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20, do_sample=False)[0]
    assert text == tokenizer.decode(ids.tolist(), skip_special_tokens=False) + "\n"

    # More tokens than the program has positions.
    longer = generated("--prompt", "The cat", "-n", "40", "--temperature", "0", in_torch=True)
    assert longer.startswith(text.rstrip("\n")) and len(longer) > len(text)

    draw = ("--prompt", "The", "-n", "30")
    texts = [generated(*draw, "--seed", seed, "--temperature", "3") for seed in ("0", "0", "1")]
    assert texts[0] == texts[1] != texts[2]
    # One candidate is the likeliest.
    likeliest = json.loads(generated(*draw, "--temperature", "0", "--json"))["text"] + "\n"
    assert generated(*draw, "--top-k", "1", "--seed", "3") == likeliest
    assert generated(*draw, "--top-p", "1e-6", "--seed", "3") == likeliest

    # Texts while it trains, by the tokenizer of its data; then by the program of the run.
    ready("train", "run.toml", "name=sampled", "sample-every=20", "generate=The cat", "temperature=0", "tokens-out=20")
    rows = [json.loads(row) for row in (ready.folder / "runs/sampled/log.jsonl").read_text().splitlines()]
    samples = [(row["step"], row["sample"]) for row in rows if "sample" in row]
    assert [step for step, _ in samples] == [20, 40]
    last = generated("--prompt", "The cat", "-n", "20", "--temperature", "0", run="sampled")
    assert last == samples[-1][1].replace("\\x0a", "\n") + "\n"  # one line of the log


def test_prompts_that_are_masked(ready) -> None:
    """The losses are those of PyTorch, with the labels of the file."""
    rows = [{"prompt": f"{i} plus {i} is", "completion": f" {2 * i}."} for i in range(200)]
    ready.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    ready("tokens", "rows.jsonl", "--train-bpe", "300", "--mask-prompts", "-o", "data", "--shard", "700")
    ready("train", "run.toml", "steps=3", "lr=1e-3", "clip=1e9")
    from hone.pretrained import label_loss

    folder = ready.folder / "data"
    read = lambda name: torch.tensor(np.concatenate([np.load(f) for f in sorted(folder.glob(name))]).astype(np.int64))
    ids, labels = read("train-*.npy"), read("labels-train-*.npy")
    assert (labels == -100).sum() > len(labels) / 3
    model = transformers.GPT2LMHeadModel.from_pretrained(ready.folder / "base").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    right = []
    for step in range(3):
        cut = slice(step * 128, (step + 1) * 128)
        loss = label_loss(model, ids[cut].view(4, 32), labels[cut].view(4, 32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right.append(loss.item())
    assert losses(ready.folder / "runs/run/log.jsonl") == pytest.approx(right, abs=1e-4)
    assert ready.json("eval", "runs/run")["val_loss"] > 0


def test_refusals(ready, capsys, monkeypatch) -> None:
    from hone.cli import main

    def refused(*words: str) -> str:
        assert main(words) == 1
        return capsys.readouterr().err.removeprefix("error: ").rstrip("\n")

    monkeypatch.chdir(ready.folder)
    assert refused("export", "base") == "base: --batch is missing, expected BxT such as 8x512"
    assert refused("export", "base", "--batch", "2x64") == (
        "base: --batch is 2x64, expected at most 32 tokens, the model's"
    )
    ready("tokens", "text.txt", "--train-bpe", "320", "-o", "data")
    content = (ready.folder / "data/tokenizer.json").read_text()
    ready.write("base/tokenizer.json", content + " ")
    done = ready("train", "run.toml", "steps=1")
    assert "warning: data was made with another tokenizer than base/tokenizer.json: its ids " in done.stderr
    ready.write("data/tokenizer.json", content.replace('"!"', '"?"', 1))
    assert ready.refusal("generate", "runs/run").startswith(
        f"{ready.folder}/data/tokenizer.json: changed since the tokens were made;"
    )
