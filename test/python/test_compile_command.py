"""hone compile: packages are made anew when a file changes that they were made from, and without torch never."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import EXAMPLES, FIXTURES
from hone.cli import main

pytest.importorskip("torch")

MODEL = """
import json
from pathlib import Path

import gpt2
import sizes


def f(batch: int = 2, sequence: int = 8):
    settings = json.loads((Path(__file__).parent / "settings.json").read_text())
    config = gpt2.Config(vocab=sizes.VOCAB, context=sequence, layers=settings["layers"], heads=2, width=16)
    return gpt2.training(config, batch, sequence)
"""


@pytest.fixture
def ready(hone):
    hone.write("gpt2.py", Path(EXAMPLES, "gpt2.py").read_text())
    hone.write("model.py", MODEL)
    hone.write("sizes.py", "VOCAB = 31\n")
    hone.write("settings.json", '{"layers": 1}')
    # Where it stands in front of torch, an import of it fails.
    hone.write("without/torch.py", "raise ImportError('no torch here')")
    return hone


def without_torch(hone, *words: object, code: int = 0) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(hone.folder / "without"), hone.environment["PYTHONPATH"]])
    return hone(*words, code=code, PYTHONPATH=path)


def test_a_package_is_made_anew_where_what_it_was_made_from_changes(ready) -> None:
    """The file, a module that it imports, a file that it reads, the batch; and not where none of these did."""
    command = ("compile", "model.py:f", "--batch", "2x8", "-o", "train")
    first = ready(*command)
    assert "exporting model.py:f" in first.stderr and "compiling f.hone" in first.stderr
    binary = (ready.folder / "train").read_bytes()
    again = without_torch(ready, *command)
    assert (again.stderr, again.stdout) == ("", "train\n") and (ready.folder / "train").read_bytes() == binary
    os.utime(ready.folder / "model.py")  # the same content
    assert without_torch(ready, *command).stderr == ""

    changes = {
        "sizes.py": "VOCAB = 33\n",
        "settings.json": '{"layers": 2}',
        "model.py": MODEL.replace("width=16", "width=32"),
    }
    before = {name: (ready.folder / name).read_text() for name in changes}
    for name, text in changes.items():
        ready.write(name, text)
        refused = without_torch(ready, *command, code=1)  # it is exported again
        assert "exporting model.py:f" in refused.stderr and "no torch here" in refused.stderr.splitlines()[-1], name
        ready.write(name, before[name])
        assert without_torch(ready, *command).stderr == "", name
    assert "no torch here" in without_torch(ready, "compile", "model.py:f", "--batch", "4x8", code=1).stderr


def test_options_of_honec(ready) -> None:
    package = os.path.join(FIXTURES, "gpt2_tiny.hone")
    printed = ready("compile", package, "--dry-run", "--memory-budget=2MiB").stdout
    assert "peak memory" in printed and not (ready.folder / "train").exists()
    ready("compile", package, "--emit", "plan", "-o", "plan.mlir")
    assert "plan.program" in (ready.folder / "plan.mlir").read_text()
    assert ready.json("compile", package, "--precision=bf16") == {"program": "train", "package": package}
    ready("compile", package, "--mesh=pp=2", "-o", "stages")
    assert os.access(ready.folder / "stages", os.X_OK)
    ready("compile", package, "--mesh=pp=2", "-o", "stages", "--dump-schedule=lists.csv")  # not from the cache
    assert (ready.folder / "lists.csv").read_text().startswith("0RECV_B0,0F0,0SEND_F0,0B0\n")
    assert ready.refusal("compile", package, "--precision=fp7").startswith("--precision: is 'fp7', expected fp32,")
    assert ready.refusal("compile", package, "--presicion=bf16", code=2).startswith(
        "unrecognized argument '--presicion' (did you mean --precision?)"
    )
    error = ready.refusal("compile", package, "-o", "no/train")
    assert error == "no/train: cannot be written: No such file or directory"


def test_wrong_sources(ready, capsys, monkeypatch) -> None:
    def refused(*words: str) -> str:
        """By an export in this process, which has imported torch."""
        assert main(["export", *words]) == 1
        return capsys.readouterr().err.removeprefix("error: ").rstrip("\n")

    monkeypatch.chdir(ready.folder)
    error = refused("no/model", "--batch", "2x8")
    assert error == "no/model: no such folder, and no model of this name on this disk; hf download no/model brings it"
    assert refused("model.py:f", "--labels").startswith("--labels: is for Hugging Face folders;")
    (ready.folder / "empty").mkdir()
    error = refused("empty", "--batch", "2x8")
    assert error == "empty: has no config.json, expected a folder that save_pretrained wrote"

    assert ready.refusal("compile", "none.py:f") == "none.py: no such file"
    assert ready.refusal("compile", "model.py:g") == "model.py: has no function 'g', expected one of f"
    ready.environment["XDG_CACHE_HOME"] = str(ready.write("file", ""))
    error = ready.refusal("compile", "model.py:f")
    assert error.endswith("cannot be made: Not a directory; XDG_CACHE_HOME=DIR names another place")
