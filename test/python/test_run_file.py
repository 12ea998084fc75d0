"""run.toml: what its keys become, and which mistakes are found."""

from __future__ import annotations

import os

import pytest
from command import HONEC
from hone.errors import HoneError

if not os.path.exists(HONEC):
    pytest.skip("honec is not built", allow_module_level=True)

from hone.cli.run_file import RunFile, parse_value, read_run_file  # noqa: E402

TEXT = """
model = "model.py:gpt"
name = "a"

[data]
train = ["a.npy", "b-*.npy"]
shuffle = true

[compile]
batch = "8x16"
precision = "bf16"
weights = false
without = ["regions", "epilogues"]
exact = false
lr = 0.5

[train]
steps = 20
lr = 1e-05
schedule = "cosine"
input = ["x=x.npy", "y=y.npy"]
"""


def test_keys_become_flags_of_the_program_and_options_of_honec() -> None:
    file = RunFile(TEXT, "run.toml")
    assert file.export_words(labels=False) == ["--batch", "8x16", "--no-weights"]
    assert file.honec_words() == ["--precision=bf16", "--without=regions,epilogues", "--lr=0.5"]
    assert file.flag_words() == [
        "--shuffle",
        "--steps=20",
        "--lr=1e-05",
        "--schedule=cosine",
        "--input=x=x.npy",
        "--input=y=y.npy",
    ]


def test_log_keys_are_flags_that_begin_with_log(monkeypatch) -> None:
    file = RunFile(TEXT, "run.toml")
    from hone.cli.tools import Option

    file.flags = file.flags | {"log-often": Option("log-often", "N", "")}
    file.put("log", "often", 5)
    file.put("log", "quiet", True)
    assert file.flag_words()[-2:] == ["--log-often=5", "--quiet"]


def test_text_reads_as_the_same() -> None:
    file = RunFile(TEXT, "run.toml")
    file.put("", "launch", 'mpirun -x A="ü\\n"\x7f')
    assert RunFile(file.text(), "run.toml").sections == file.sections


CHANGES = {
    "steps=30": ("train.steps", 30),
    "train.lr=1e-3": ("train.lr", 0.001),
    "compile.lr=3": ("compile.lr", 3),
    "precision=fp16": ("compile.precision", "fp16"),  # in the file
    "memory-budget=2GiB": ("compile.memory-budget", "2GiB"),  # of honec
    "batch=4x32": ("compile.batch", "4x32"),
    "clip=1": ("train.clip", 1),  # of both: the program's
    "val=v.npy": ("data.val", "v.npy"),
    "name=b": ("name", "b"),
    "quiet=true": ("train.quiet", True),
    'data.train=["c.npy"]': ("data.train", ["c.npy"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes(change: str) -> None:
    file = RunFile(TEXT, "run.toml")
    file.change(change)
    key, value = CHANGES[change]
    assert file.values()[key] == value


WRONG_CHANGES = {
    "lr=1": "'lr': is in compile and train, expected compile.lr=VALUE",
    "steps": "'steps': expected KEY=VALUE",
    "stpes=3": "'stpes': no such key (did you mean steps?)",
    "tran.steps=3": "'tran.steps': no section tran (did you mean train?)",
    "train.stpes=3": "run.toml: train.stpes: no such key (did you mean steps?)",
}


@pytest.mark.parametrize("change", WRONG_CHANGES)
def test_wrong_changes(change: str) -> None:
    with pytest.raises(HoneError) as error:
        RunFile(TEXT, "run.toml").change(change)
    assert str(error.value) == WRONG_CHANGES[change]


WRONG = {
    "modle = 'm.py:f'": "modle: no such key (did you mean model?)",
    "steps = 3": "steps: no such key; it belongs in [train]",
    "[train]\nstep = 3": "train.step: no such key (did you mean steps?)",
    "[train]\nprecision = 'bf16'": "train.precision: no such key; it belongs in [compile]",
    "[data]\nbatch = '8x8'": "data.batch: no such key; it belongs in [compile]",
    "[data]\nmodel = 'm.py:f'": "data.model: no such key; it belongs at the top",
    "[trian]\nsteps = 3": "[trian]: no such section (did you mean train?)",
    "[other]\nsteps = 3": "[other]: no such section, expected data, compile, train, log",
    "train = 3": "train is 3, expected a section [train]",
    "[train]\nsave = 'w'": "train.save: hone sets this flag, from runs/NAME/weights.safetensors",
    "[train]\ndata = 'w'": "train.data: hone sets this flag, from [data] train",
    "[train]\ninfo = true": "train.info: is no setting of a run",
    "[train]\ncheck = true": "train.check: is no setting of a run",
    "[train]\nshuffle = 1": "train.shuffle: is 1, expected true or false",
    "[train]\nsteps = true": "train.steps: is true, expected a string, a number or a list of them",
    "[train]\nsteps = 2026-11-26": 'train.steps: is "2026-11-26", expected a string, a number or a list of them',
    "[compile]\nweights = 'yes'": 'compile.weights: is "yes", expected true or false',
    "[train]\nlr = 'fast'": 'train.lr: is "fast", expected a number, as lr = 1e-3',
    "[train]\nsteps = 'many'": 'train.steps: is "many", expected a number, as steps = 100',
    "[train]\ncomm-timeout = 'long'": 'train.comm-timeout: is "long", expected a number, as comm-timeout = 600',
    "[compile]\nmemory-budget = 'small'": 'compile.memory-budget: is "small", expected a size, as memory-budget = "1.5GiB"',
    "[compile]\nmicro-batches = 'few'": 'compile.micro-batches: is "few", expected a number, as micro-batches = 4',
    "[log]\nevery = 'often'": 'log.every: is "often", expected a number, as every = 100',
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_files(text: str) -> None:
    with pytest.raises(HoneError) as error:
        RunFile(text, "run.toml")
    assert str(error.value) == f"run.toml: {WRONG[text]}"


@pytest.mark.parametrize("line", ("steps = '2epochs'", "tokens = '1.5B'", "lr = '1e-3'", "lr = -1", "clip = inf"))
def test_numbers_in_words_of_their_own(line: str) -> None:
    RunFile(f"[train]\n{line}", "run.toml")


WRONG_TOML = {
    "[train]\nsteps = 3\n[data]\n[train]\nlr = 1": "4: the section train is given twice; write all its keys below one [train]",
    "train = { steps = 3 }\n[train]\nlr = 1": "2: the section train is given twice; write all its keys below one [train]",
    "[train]\nsteps = 3\nsteps = 4": "3: steps is given twice; delete one of them",
    "model = 'm.py:f'\nmodel = 'n.py:f'": "2: model is given twice; delete one of them",
    "[train]\nlr = fast # yes": '2: lr is fast, expected a number, true, false or text in quotes, as lr = "fast"',
    "[train]\nlr =": '2: lr is empty, expected a number, true, false or text in quotes, as lr = ""',
    "[compile\n": "1: Expected ']' at the end of a table declaration",
    "In the beginning": "1: Expected '=' after a key in a key/value pair",
}


@pytest.mark.parametrize("text", WRONG_TOML)
def test_wrong_toml(text: str) -> None:
    with pytest.raises(HoneError) as error:
        RunFile(text, "run.toml")
    assert str(error.value) == f"run.toml:{WRONG_TOML[text]}"


def test_errors_of_tools_name_the_key() -> None:
    file = RunFile(TEXT + "[log]\nevery = 5\n", "run.toml")
    assert in_words(file, "--lr: '-1', expected 1", "compile") == "run.toml: compile.lr: '-1', expected 1"
    assert in_words(file, "--lr: '-1', expected 1", "train", "log") == "run.toml: train.lr: '-1', expected 1"
    assert in_words(file, "--log-every: '0', expected 1", "train", "log") == "run.toml: log.every: '0', expected 1"
    assert in_words(file, "--warmup: given", "train", "log") == "--warmup: given"
    assert in_words(file, "model.py:3: no", "train") == "model.py:3: no"


def in_words(file: RunFile, text: str, *sections: str) -> str:
    return str(file.in_its_words(HoneError(text), *sections))


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(HoneError, match="no.toml: No such file or directory; hone new gpt writes one, with a model"):
        read_run_file(tmp_path / "no.toml")
    (tmp_path / "text.txt").write_text("In the beginning")
    with pytest.raises(HoneError, match="text.txt:1: .*; expected a run file .TOML., as hone new writes one"):
        read_run_file(tmp_path / "text.txt")
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(HoneError, match='has no key model, expected model = "FILE.py:FUNCTION"'):
        read_run_file(tmp_path / "empty.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(HoneError, match="is not text, expected a run file"):
        read_run_file(tmp_path / "bytes.toml")


def test_values_of_a_command_line() -> None:
    values = {"3": 3, "1e-3": 0.001, "true": True, "'3'": "3", "8x16": "8x16", "2026-11-26": "2026-11-26", "": ""}
    assert {text: parse_value(text) for text in values} == values
