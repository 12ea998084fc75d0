#!/usr/bin/env python3
"""Trains packed documents and compares with PyTorch: documents.py MODEL WORKDIR [honec options].

MODEL is a language model of test/fixtures. The package is compiled with --documents=0, and trained for five steps on
rows that hold several documents each, by the interpreter too where no options are given. In PyTorch, the same model has
an explicit mask per pair of positions, and position ids that begin at 0 in each document. With hf_llama, a model of
transformers that finds documents in its input of position ids, these ids are an input of the program too. Checks

- every loss within 1e-6 of PyTorch's, relative to it,
- the first loss, of documents that are computed one by one, each in a row of its own: the same,
- that documents matter: the loss of a program without --documents, or of positions that do not begin anew, differs
  from it by more than 1e-4,
- that the mask of hf_llama has become segments.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

import numpy as np
import torch
import torch.nn.functional as F

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "fixtures"), str(HERE.parents[1] / "python_frontend")]

import hone  # noqa: E402
import make  # noqa: E402
from golden import read_safetensors  # noqa: E402
from interpreter import vocabulary  # noqa: E402

STEPS, END, TOLERANCE, CROSSING = 5, 0, 1e-6, 1e-4


def documents_of(tokens: torch.Tensor) -> torch.Tensor:
    """The number of the document of each position: ends before it."""
    ends = (tokens == END).long()
    return ends.cumsum(1) - ends


def positions_of(documents: torch.Tensor) -> torch.Tensor:
    place = torch.arange(documents.shape[1]).expand_as(documents)
    first = torch.stack([place[b][(row[:, None] == row).int().argmax(1)] for b, row in enumerate(documents)])
    return place - first


class Apart:
    """A causal model whose attention stays inside of the documents of `tokens`, by a mask in place of its own."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model, self.mask, self.positions = model, None, None
        for name, module in model.named_modules():
            if name.endswith("wpe"):
                module.register_forward_pre_hook(lambda module, arguments: (self.positions,))

    def attention(self, query, key, value, attn_mask=None, dropout_p=0, is_causal=False, scale=None, enable_gqa=False):
        assert not dropout_p
        return self.plain(query, key, value, attn_mask=self.mask, scale=scale, enable_gqa=enable_gqa)

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        documents = documents_of(tokens)
        self.positions = positions_of(documents)
        earlier = torch.ones(2 * documents.shape[1:]).tril().bool()
        self.mask = (documents[:, None, :, None] == documents[:, None, None, :]) & earlier
        self.plain, F.scaled_dot_product_attention = F.scaled_dot_product_attention, self.attention
        try:
            result = self.model(tokens)
            return getattr(result, "logits", result)
        finally:
            F.scaled_dot_product_attention = self.plain


def one_by_one(logits_of: Callable, tokens: torch.Tensor, targets: torch.Tensor) -> float:
    total = 0.0
    for ids, labels in zip(tokens, targets):
        numbers = documents_of(ids[None])[0]
        for number in numbers.unique():
            own = numbers == number
            total += F.cross_entropy(logits_of(ids[own][None])[0], labels[own], reduction="sum").item()
    return total / targets.numel()


def hf_llama(folder: Path) -> tuple[hone.Training, Path]:
    """Its package is made here."""
    import transformers

    torch.manual_seed(1)
    sizes = dict(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2, max_position_embeddings=16)
    config = transformers.LlamaConfig(num_attention_heads=4, num_key_value_heads=2, **sizes)
    model = transformers.LlamaForCausalLM(config)

    def loss(model, tokens, targets, positions):
        logits = model(input_ids=tokens, position_ids=positions, use_cache=False).logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    ids = torch.zeros(2, 16, dtype=torch.long)
    roles = {"tokens": "tokens", "targets": "targets", "positions": ""}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batch, package = (ids, ids.clone(), ids.clone()), folder / "hf_llama.hone"
    hone.export(model, loss, batch, optimizer, out=str(package), roles=roles, weights=True)
    return hone.Training(model, loss, batch, optimizer), package


class Runs:
    """Programs of a package, on tokens and other inputs of a folder."""

    def __init__(self, package: Path, work: Path, options: list[str]) -> None:
        self.package, self.work, self.options = package, work, options

    def losses(self, command: list, name: str, inputs: list) -> list[float]:
        log = self.work / f"{name}.jsonl"
        words = ["--data", self.work / "tokens.npy", "--init", self.package / "model.safetensors", "--quiet"]
        words += ["--steps", str(STEPS), "--log", log, *inputs]
        subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL)
        rows = map(json.loads, log.read_text().splitlines())
        return [row["loss"] for row in rows if "loss" in row]

    def compiled(self, name: str, flags: list[str], inputs: list) -> list[float]:
        subprocess.run(["honec", self.package, "-o", self.work / name, *flags, *self.options], check=True)
        return self.losses([self.work / name], name, inputs)

    def raised(self) -> str:
        command = ["honec", self.package, "--upto=raise", "--emit=mlir", "-o", "-"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(argv: list[str]) -> int:
    name, work, options = argv[1], Path(argv[2]), argv[3:]
    work.mkdir(parents=True, exist_ok=True)
    is_hugging_face = name == "hf_llama"
    if is_hugging_face:
        training, package = hf_llama(work)
    else:
        training, package = getattr(make, name)(), HERE.parent / "fixtures" / f"{name}.hone"
        weights = read_safetensors(package / "model.safetensors")
        weights = {key: torch.from_numpy(value.copy()) for key, value in weights.items()}
        training.model.load_state_dict(weights, strict=False)
    batch, length = training.example_batch[0].shape
    draw = np.random.default_rng(3)
    ids = draw.integers(1, vocabulary(package), STEPS * batch * length + 1).astype(np.uint16)
    ids[draw.random(ids.size) < 0.2] = END
    np.save(work / "tokens.npy", ids)
    stream = torch.from_numpy(ids.astype(np.int64))
    tokens, targets = (stream[k : k + STEPS * batch * length].view(STEPS, batch, length) for k in (0, 1))
    positions = torch.stack([positions_of(documents_of(rows)) for rows in tokens])

    if is_hugging_face:
        alone = one_by_one(lambda ids: training.model(ids, use_cache=False).logits, tokens[0], targets[0])
    else:
        apart = Apart(training.model)
        alone = one_by_one(apart, tokens[0], targets[0])
    expected = []
    for rows, labels, places in zip(tokens, targets, positions):
        if is_hugging_face:
            loss = training.loss_fn(training.model, rows, labels, places)
        else:
            loss = F.cross_entropy(apart(rows).flatten(0, 1), labels.flatten())
        training.optimizer.zero_grad()
        loss.backward()
        if training.clip is not None:
            torch.nn.utils.clip_grad_norm_(training.model.parameters(), training.clip)
        training.optimizer.step()
        expected.append(loss.item())

    flags, inputs, plain = [f"--documents={END}"], [], []
    if is_hugging_face:
        np.save(work / "positions.npy", positions.numpy())
        np.save(work / "plain.npy", np.broadcast_to(np.arange(length), positions.shape))
        flags, inputs, plain = [], [f"--input=positions={work}/positions.npy"], [f"--input=positions={work}/plain.npy"]
    run = Runs(package, work, options)
    found = {"compiled": run.compiled("apart", flags, inputs)}
    if not options:
        found["interpreted"] = run.losses(["hone-run", package, *flags], "interpreted", inputs)
    bad = 0
    for kind, losses in found.items():
        error = max(abs(a - b) / b for a, b in zip(losses, expected, strict=True))
        apart_error = abs(losses[0] - alone) / alone
        bad += error > TOLERANCE or apart_error > TOLERANCE
        print(f"{kind}: {STEPS} losses differ by {error:.1e}, the first from documents one by one by {apart_error:.1e}")
    crossing = abs(run.compiled("crossing", [], plain)[0] - expected[0])
    bad += crossing <= CROSSING
    print(f"where documents see one another the first loss differs by {crossing:.1e}")
    if is_hugging_face:
        segments = re.findall(r"hone.attention .* mask %\S+ causal scale .*tensor<2x16xi64>\) ->", run.raised())
        bad += len(segments) != 2
        print(f"{len(segments)} attentions with segments")
    print("FAILED" if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
