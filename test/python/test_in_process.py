"""hone.compile: steps in this process, beside the training binary of the same package."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

import gpt2  # noqa: E402
import hone  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from hone.in_process.cache import _key  # noqa: E402

BIN = os.environ.get("HONE_BIN", os.path.join(ROOT, "build", "bin"))
pytestmark = pytest.mark.skipif(not os.path.exists(os.path.join(BIN, "honec")), reason="honec is not built")

ROWS, COLUMNS, VOCAB = 2, 16, gpt2.TINY.vocab


@pytest.fixture(autouse=True)
def honec_on_path(monkeypatch):
    monkeypatch.setenv("PATH", BIN + os.pathsep + os.environ["PATH"])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def compiled(cache, training: hone.Training | None = None, **more) -> hone.in_process.step.Step:
    t = training or gpt2.tiny()
    return hone.compile(t.model, t.loss_fn, t.example_batch, t.optimizer, clip=t.clip, cache=cache, threads=1, **more)


def batches(count: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and targets with structure to learn, [count, ROWS, COLUMNS] each."""
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(VOCAB, (count, ROWS, 1), generator=generator)
    stream = (start + 3 * torch.arange(COLUMNS + 1)) % VOCAB
    return stream[..., :-1].contiguous(), stream[..., 1:].contiguous()


def binary(step, work, tokens, targets, *flags: str, options: tuple[str, ...] = (), steps: int = 0) -> list[float]:
    """The losses of the training binary of the step's package over these batches."""
    train, log = os.path.join(work, "train"), os.path.join(work, "run.jsonl")
    subprocess.run(["honec", os.path.join(step.folder, "model.hone"), "-o", train, *options], check=True)
    for name, values in (("tokens", tokens), ("targets", targets)):
        numpy.save(os.path.join(work, name), values.numpy())
    files = [f"--input={name}={os.path.join(work, name)}.npy" for name in ("tokens", "targets")]
    files += ["--steps", str(steps or len(tokens)), "--log", log, "--quiet", "--threads=1"]
    subprocess.run([train, *files, *flags], check=True)
    lines = [json.loads(line) for line in open(log)]
    return [line["loss"] for line in lines if "loss" in line]


def as_f32(losses) -> numpy.ndarray:
    """The log has the digits that name a loss's bits."""
    return numpy.asarray(losses, numpy.float32)


# -- steps --------------------------------------------------------------------------------------------------------


def test_a_data_loader_feeds_the_steps_of_the_binary(cache, tmp_path) -> None:
    tokens, targets = batches(200)
    rows = torch.utils.data.TensorDataset(tokens.flatten(0, 1), targets.flatten(0, 1))
    step = compiled(cache)
    step.save(tmp_path / "start.safetensors")
    losses = []
    # Workers are forked while the step is there.
    for x, y in torch.utils.data.DataLoader(rows, batch_size=ROWS, num_workers=2):
        losses.append(step(x, y).loss)
    expected = binary(step, tmp_path, tokens, targets, "--init", str(tmp_path / "start.safetensors"))
    assert (as_f32(losses) == as_f32(expected)).all()
    assert losses[-1] < losses[0] / 2
    assert step.steps == 200


def test_fresh_values_and_dropout_are_the_binarys_by_seed(cache, tmp_path) -> None:
    config = gpt2.Config(vocab=VOCAB, context=16, layers=1, heads=2, width=16, dropout=0.2)
    step = compiled(cache, gpt2.training(config, ROWS, COLUMNS), fresh=True, seed=11)
    tokens, targets = batches(20)
    losses = [step(x, y).loss for x, y in zip(tokens, targets)]
    expected = binary(step, tmp_path, tokens, targets, "--fresh", "--seed", "11")
    assert (as_f32(losses) == as_f32(expected)).all()


def test_training_starts_from_the_model(cache) -> None:
    t = gpt2.tiny()
    tokens, targets = batches(1)
    step = compiled(cache, t)
    eager = t.loss_fn(t.model, tokens[0], targets[0]).item()
    assert step.evaluate(tokens[0], targets[0]) == pytest.approx(eager, rel=1e-5)
    assert step(tokens[0], targets[0]).loss == pytest.approx(eager, rel=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_micro_batches_and_precision_are_options_of_honec(cache, tmp_path, precision: str) -> None:
    step = compiled(cache, precision=precision, micro_batches=2)
    step.save(tmp_path / "start.safetensors")
    tokens, targets = batches(20)
    losses = [step(tokens[i : i + 2], targets[i : i + 2]).loss for i in range(0, 20, 2)]
    options = (f"--precision={precision}", "--micro-batches=2")
    flags = ("--init", str(tmp_path / "start.safetensors"))
    expected = binary(step, tmp_path, tokens, targets, *flags, options=options, steps=10)
    assert (as_f32(losses) == as_f32(expected)).all()


def test_two_steps_in_one_process(cache, tmp_path) -> None:
    other = gpt2.training(gpt2.Config(vocab=VOCAB, context=16, layers=1, heads=2, width=24), ROWS, COLUMNS)
    tokens, targets = batches(10)
    alone = []
    for training in (None, other):
        step = compiled(cache, training, fresh=True)
        alone.append([step(x, y).loss for x, y in zip(tokens, targets)])
    first, second = compiled(cache, fresh=True), compiled(cache, other, fresh=True)
    third = compiled(cache, fresh=True)  # of the same program as the first
    together = [[s(x, y).loss for s in (first, second, third)] for x, y in zip(tokens, targets)]
    assert [list(losses) for losses in zip(*together)] == [*alone, alone[0]]


def test_an_emulated_gpu_makes_the_same_steps(cache) -> None:
    config = gpt2.Config(vocab=VOCAB, context=16, layers=1, heads=2, width=16)
    tokens, targets = batches(4)
    t = gpt2.training(config, ROWS, COLUMNS)
    host, gpu = compiled(cache, t), compiled(cache, t, target="cuda", arch="sm_90", emulate=True)
    for x, y in zip(tokens, targets):
        assert gpu(x, y).loss == pytest.approx(host(x, y).loss, rel=1e-5)
    before = gpu.params["wte.weight"]  # of the moment
    torch.testing.assert_close(before, host.params["wte.weight"], rtol=1e-4, atol=1e-5)
    kept = before.clone()
    gpu(tokens[0], targets[0])
    assert torch.equal(before, kept) and not torch.equal(gpu.params["wte.weight"], kept)
    gpu.params["wte.weight"] = kept
    assert torch.equal(gpu.params["wte.weight"], kept)


# -- inputs -------------------------------------------------------------------------------------------------------


def test_inputs_of_numpy_of_other_integers_and_of_any_layout(cache) -> None:
    tokens, targets = batches(1)
    stream = torch.cat([tokens[0], targets[0][:, -1:]], dim=1)  # its slices are rows of one more id
    small = numpy.ascontiguousarray(stream.numpy().astype(numpy.uint16))
    small.flags.writeable = False  # as np.load(mmap_mode="r") gives
    step = compiled(cache)
    expected = step.evaluate(tokens[0], targets[0])
    for x, y in (
        (stream[:, :-1], stream[:, 1:]),
        (stream.T.contiguous().T[:, :-1], stream[:, 1:].int()),
        (small[:, :-1], small[:, 1:]),
        (numpy.flip(numpy.flip(small, 1).copy(), 1)[:, :-1], targets[0].numpy()),
    ):
        assert step.evaluate(x, y) == expected
    assert step.evaluate(targets=targets[0], tokens=tokens[0]) == expected
    assert step.evaluate(tokens[0], targets=targets[0]) == expected


def wrong_inputs() -> dict:
    ids = torch.zeros(ROWS, COLUMNS, dtype=torch.long)
    high = ids.clone()
    high[1, 3] = VOCAB
    return {
        "input 'targets': int64 of shape [16, 2], expected int64 of shape [2, 16]": ((ids, ids.T), {}),
        "input 'targets': float32 of shape [2, 16], expected int64 of shape [2, 16]": ((ids, ids.float()), {}),
        f"input 'tokens': id {VOCAB} at position 19, expected 0 to {VOCAB - 1}": ((high, ids), {}),
        "input 'targets': is a list, expected a tensor of PyTorch or NumPy, or of what else has __dlpack__": (
            (ids, [1, 2]),
            {},
        ),
        "input 'targets': not given, expected tokens, targets": ((ids,), {}),
        "inputs: 3, expected tokens, targets": ((ids, ids, ids), {}),
        "input 'labels': unknown, expected tokens, targets": ((ids,), {"labels": ids}),
        "input 'tokens': given twice, expected tokens, targets": ((ids, ids), {"tokens": ids}),
    }


@pytest.mark.parametrize("line", wrong_inputs())
def test_wrong_inputs_are_exceptions_with_one_line(cache, line: str) -> None:
    tensors, named = wrong_inputs()[line]
    step = compiled(cache)
    with pytest.raises(hone.HoneError) as error:
        step(*tensors, **named)
    assert str(error.value) == line
    assert step.steps == 0


def test_an_input_that_the_loss_does_not_read_is_taken_all_the_same(cache) -> None:
    model = nn.Linear(4, 3)
    loss = lambda model, x, unused, y: F.cross_entropy(model(x), y)  # noqa: E731
    x, y = torch.randn(8, 4), torch.randint(3, (8,))
    step = hone.compile(model, loss, (x, torch.zeros(2), y), torch.optim.SGD(model.parameters(), lr=0.1), cache=cache)
    assert step(x, torch.zeros(2), y).loss == pytest.approx(F.cross_entropy(model(x), y).item(), rel=1e-5)


# -- errors and signals -------------------------------------------------------------------------------------------


def test_a_loss_that_is_not_finite_is_an_exception(cache) -> None:
    step = compiled(cache)
    step.params["wpe.weight"] = torch.full_like(step.params["wpe.weight"], float("nan"))
    ids = torch.zeros(ROWS, COLUMNS, dtype=torch.long)
    with pytest.raises(hone.HoneError, match="^step 1: the loss is nan, expected a finite value$"):
        step(ids, ids)


def test_an_interrupt_comes_between_steps(cache) -> None:
    tokens, targets = batches(1)
    step, other = compiled(cache, fresh=True), compiled(cache, fresh=True)
    # A shell has what it starts in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    ends = time.monotonic() + 60
    try:
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() < ends:
                step(tokens[0], targets[0])
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    for _ in range(step.steps):
        other(tokens[0], targets[0])
    assert step(tokens[0], targets[0]) == other(tokens[0], targets[0])


def test_a_child_process_is_refused(cache) -> None:
    step = compiled(cache)
    ids = torch.zeros(ROWS, COLUMNS, dtype=torch.long)
    child = os.fork()
    if child == 0:
        try:
            step(ids, ids)
        except hone.HoneError as error:
            os._exit(0 if "this trainer is of process" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"mesh": "dp=2"}, "mesh: is 'dp=2', expected none: a step is one process; honec --mesh without --emit=so"),
        ({"emit": "exe"}, "emit: is 'exe', expected none: a step is made of a shared object"),
        ({"precison": "bf16"}, "--precison: unknown option, see honec --help; did you mean --precision?"),
        ({"memory_budget": "1KiB"}, "memory budget of 1.00 KiB (1024 bytes) is too small: the smallest that works is "),
        ({"fresh": True, "weights": "w"}, "fresh: given with weights, expected one of them"),
        ({"resume": True}, "resume: given without a folder of checkpoints"),
    ],
)
def test_wrong_options_are_exceptions_with_one_line(cache, options: dict, line: str) -> None:
    with pytest.raises(hone.HoneError) as error:
        compiled(cache, **options)
    assert line in str(error.value) and "\n" not in str(error.value)


def test_a_missing_honec_is_named(cache, monkeypatch, tmp_path) -> None:
    from hone.cli import tools

    monkeypatch.setattr(tools, "_TREE", tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    tools.find_tool.cache_clear()
    try:
        with pytest.raises(hone.HoneError, match="^honec: not found; put the folder that holds it on PATH"):
            compiled(cache)
    finally:
        tools.find_tool.cache_clear()


# -- state --------------------------------------------------------------------------------------------------------


def test_parameters_are_views_that_outlive_the_step(cache) -> None:
    t = gpt2.tiny()
    step = compiled(cache, t)
    tokens, targets = batches(1)
    names = {name for name, _ in t.model.named_parameters()}
    assert set(step.params) == names and "head.weight" in step.params  # tied
    view = step.params["wte.weight"]
    assert torch.equal(view, t.model.wte.weight)
    assert step.params["head.weight"].data_ptr() == view.data_ptr()
    step(tokens[0], targets[0])
    assert not torch.equal(view, t.model.wte.weight)
    assert any(tensor.abs().max() > 0 for tensor in step.optimizer_state.values())
    step.copy_to(t.model)
    assert torch.equal(view, t.model.wte.weight)
    kept = view.clone()
    del step
    gc.collect()
    assert torch.equal(view, kept)


def test_an_assignment_reaches_copies_in_low_precision(cache) -> None:
    t = gpt2.tiny()
    tokens, targets = batches(1)
    first, second = compiled(cache, t, precision="bf16"), compiled(cache, t, precision="bf16", fresh=True)
    assert first.evaluate(tokens[0], targets[0]) != second.evaluate(tokens[0], targets[0])
    for name, value in first.params.items():
        second.params[name] = value
    assert first.evaluate(tokens[0], targets[0]) == second.evaluate(tokens[0], targets[0])
    with pytest.raises(hone.HoneError, match=r"^'wte.weight': is of shape \[2\], expected \[61, 32\]$"):
        second.params["wte.weight"] = torch.zeros(2)
    with pytest.raises(KeyError):
        second.params["wte"]


def test_weights_and_checkpoints(cache, tmp_path) -> None:
    tokens, targets = batches(9)
    run = lambda step, pairs: [step(x, y).loss for x, y in pairs]  # noqa: E731
    pairs = list(zip(tokens, targets))
    step = compiled(cache, fresh=True, checkpoint_dir=tmp_path / "checkpoints")
    run(step, pairs[:4])
    step.save(tmp_path / "w.safetensors")
    step.checkpoint()
    expected = run(step, pairs[4:])
    del step
    gc.collect()  # one at a time writes the folder
    resumed = compiled(cache, checkpoint_dir=tmp_path / "checkpoints", resume=True)
    assert resumed.steps == 4 and run(resumed, pairs[4:]) == expected
    loaded, started = compiled(cache), compiled(cache, weights=tmp_path / "w.safetensors")
    loaded.load(tmp_path / "w.safetensors")
    assert run(loaded, pairs) == run(started, pairs)
    model = hone.load(gpt2.tiny().model, str(tmp_path / "w.safetensors"))
    with pytest.raises(hone.HoneError, match="missing.safetensors"):
        loaded.load(tmp_path / "missing.safetensors")
    assert isinstance(model, nn.Module)


def test_scalars_are_of_the_steps_to_come(cache) -> None:
    tokens, targets = batches(1)
    step = compiled(cache)
    assert (step.lr, step.clip) == (1e-3, 1.0)
    before = step.params["wte.weight"].clone()
    step.lr = 0
    assert step(tokens[0], targets[0]).lr == 0
    assert torch.equal(step.params["wte.weight"], before)
    with pytest.raises(hone.HoneError, match="^lr: is nan, expected a number >= 0$"):
        step.lr = float("nan")


# -- the cache ----------------------------------------------------------------------------------------------------


def test_programs_are_cached_by_content(tmp_path, capfd) -> None:
    t = gpt2.tiny()
    step = compiled(tmp_path, t)
    printed = capfd.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith("hone: GPT compiled in ") and printed.err.endswith(f", in {step.folder}\n")
    torch.manual_seed(5)
    t = gpt2.tiny()  # other values of the same law, which are not of the program
    again = compiled(tmp_path, t)
    assert capfd.readouterr().err.startswith("hone: GPT from the cache, arena ")
    assert again.folder == step.folder
    assert torch.equal(again.params["wte.weight"], t.model.wte.weight)
    assert compiled(tmp_path, t, precision="bf16").folder != step.folder
    assert step.plan.peak_bytes == step.plan.report["memory"]["arena"] > 0
    assert open(step.report()).read(15).lower() == "<!doctype html>"
    assert "fingerprint" in step.info()
    assert not [name for name in os.listdir(tmp_path) if "." in name]  # nothing is left of the exports


# -- the page and loops of others ---------------------------------------------------------------------------------


def test_a_cache_that_cannot_be_written_is_named(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    t = gpt2.tiny()
    cache = str(tmp_path / "file" / "cache")
    with pytest.raises(hone.HoneError, match=rf"{cache}.*: Not a directory; programs are kept in {cache}, cache=FOLDER"):
        hone.compile(t.model, t.loss_fn, t.example_batch, t.optimizer, cache=cache)


def test_programs_are_of_the_libraries_below_honec_too(tmp_path) -> None:
    """In a wheel lib/honec has a folder, with libraries that programs load."""
    package, shared = tmp_path / "model.hone", tmp_path / "lib" / "honec" / "shared"
    for folder in (package, shared, tmp_path / "bin"):
        folder.mkdir(parents=True)
    (tmp_path / "bin" / "honec").write_bytes(b"honec")
    (shared / "libdnnl.so.2").write_bytes(b"one")
    words = (str(package), [], str(tmp_path / "bin" / "honec"))
    first = _key(*words)
    assert _key(*words) == first
    (shared / "libdnnl.so.2").write_bytes(b"another")
    assert _key(*words) != first


def test_the_session_of_the_page_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    page = open(os.path.join(ROOT, "docs", "in-process.md"), encoding="utf-8").read()
    session = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(session) == 1
    exec(compile(session[0], "in-process.md", "exec"), {})
    assert (tmp_path / "trained.safetensors").exists()
    assert len(os.listdir(tmp_path / "hone" / "programs")) == 1


def test_transformers_trainer_steps_by_a_compiled_step(cache, tmp_path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    import hf_trainer

    config = transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=16, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    model = transformers.GPT2LMHeadModel(config)
    tokens = batches(20)[0].flatten(0, 1)
    # The Trainer divides a batch's loss by the labels that are not -100, the first of a row too, which has no logits.
    labels = torch.cat([torch.full_like(tokens[:, :1], -100), tokens[:, 1:]], dim=1)
    data = [{"input_ids": ids, "labels": row} for ids, row in zip(tokens, labels)]
    arguments = dict(
        per_device_train_batch_size=2, max_steps=20, learning_rate=5e-3, warmup_steps=3, logging_steps=1,
        report_to=[], use_cpu=True, seed=0, save_strategy="no", dataloader_drop_last=True, weight_decay=0.0,
    )  # fmt: skip
    losses = {}
    for kind in ("eager", "compiled"):
        own = transformers.GPT2LMHeadModel(config)
        own.load_state_dict(model.state_dict())
        options = transformers.TrainingArguments(output_dir=str(tmp_path / kind), **arguments)
        if kind == "eager":
            trainer = transformers.Trainer(own, options, train_dataset=data, eval_dataset=data[:8])
        else:
            ids = torch.zeros(2, COLUMNS, dtype=torch.long)
            optimizer = torch.optim.AdamW(own.parameters(), lr=5e-3, weight_decay=0)
            step = hone.compile(own, hf_trainer.loss, (ids, ids.clone()), optimizer, clip=1.0, cache=cache, threads=1)
            trainer = hf_trainer.HoneTrainer(own, options, train_dataset=data, eval_dataset=data[:8], step=step)
        trainer.train()
        losses[kind] = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        losses[kind].append(trainer.evaluate()["eval_loss"])
    assert losses["compiled"] == pytest.approx(losses["eager"], rel=2e-3)
    assert losses["compiled"][-1] < losses["compiled"][0] - 0.1
