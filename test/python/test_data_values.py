"""The files of what [data] train is given, as hone train and the program find them: hone train looks for tokens.json
beside them before there is a program, and reads labels in their order. One table, both over each row.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from hone.cli.token_data import find_data
from hone.errors import HoneError

np = pytest.importorskip("numpy")

TINY = os.path.join(ROOT, "build", "bin", "honert-tiny")
pytestmark = pytest.mark.skipif(not os.path.exists(TINY), reason="honert-tiny is not built")

FILES = (
    "a.bin", "b.bin", "c,d.bin", "e:2", "f[1].bin", "f1.bin", "g*.bin", "g2.bin", "é.bin", "z.bin", ".hidden.bin",
    "d/1.bin", "d/2.bin", "d/10.bin", "e:3/a.bin", "name with space.bin",
)
TABLE = {  # the values -> files in their order; None: refused
    ("a.bin",): ["a.bin"],
    ("./a.bin",): ["./a.bin"],
    ("b.bin,a.bin",): ["b.bin", "a.bin"],
    ("b.bin", "a.bin"): ["b.bin", "a.bin"],
    ("a.bin", "a.bin"): ["a.bin", "a.bin"],
    ("a.bin:3", "b.bin:1"): ["a.bin", "b.bin"],
    ("a.bin:3",): ["a.bin"],
    ("a.bin:1e-1", "b.bin:+2"): ["a.bin", "b.bin"],
    ("a.bin,b.bin:.5", "d/*.bin:1"): ["a.bin", "b.bin", "d/1.bin", "d/10.bin", "d/2.bin"],
    ("d/*.bin",): ["d/1.bin", "d/10.bin", "d/2.bin"],
    ("d/?.bin",): ["d/1.bin", "d/2.bin"],
    ("d/[!1].bin",): ["d/2.bin"],
    ("d/[^1].bin",): ["d/2.bin"],
    ("d/[12].bin,a.bin",): ["d/1.bin", "d/2.bin", "a.bin"],
    ("*.bin",): sorted(name for name in FILES if "/" not in name and name.endswith(".bin") and name[0] != "."),
    ("*/a.bin",): ["e:3/a.bin"],
    ("c,d.bin",): ["c,d.bin"],
    ("c,d.bin:2", "a.bin:1"): ["c,d.bin", "a.bin"],
    ("e:2",): ["e:2"],
    ("e:2:5",): ["e:2"],
    ("e:3/a.bin",): ["e:3/a.bin"],
    ("f[1].bin",): ["f[1].bin"],
    ("f[1].bin,f1.bin",): ["f[1].bin", "f1.bin"],
    ("g*.bin",): ["g*.bin"],
    ("name with space.bin",): ["name with space.bin"],
    ("none.bin",): None,
    ("a.bin,none.bin",): None,
    ("none/*.bin",): None,
    ("d",): None,
    ("a.bin,",): None,
    (",a.bin",): None,
    ("a.bin:0",): None,
    ("a.bin:-1",): None,
    ("a.bin:x",): None,
    ("a.bin:1x",): None,
    ("a.bin:inf",): None,
    ("a.bin:1", "b.bin"): None,
    ("a.bin:1", "b.bin:1e-9"): None,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data")
    for name in FILES:
        (path / name).parent.mkdir(exist_ok=True)
        (np.arange(100) % 31).astype(np.uint16).tofile(path / name)
    return path


def of_program(folder: Path, values: tuple[str, ...]) -> list[str] | None:
    log = folder / "log.jsonl"
    words = [TINY, *(f"--data={value}" for value in values), "--steps=0", f"--log={log}", "--quiet", "--threads=1"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
        return None
    (sources,) = [row["data"] for row in map(json.loads, log.read_text().splitlines()) if "data" in row]
    return [file for source in sources for file in source["files"]]


def of_command(values: tuple[str, ...]) -> list[str] | None:
    try:
        return list(find_data(list(values), "data.train").files)
    except HoneError:
        return None


@pytest.mark.parametrize("values", TABLE, ids=" ".join)
def test_both_find_the_same_files(values: tuple[str, ...], folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    expected = TABLE[values]
    assert of_program(folder, values) == expected
    # What is wrong beside names, the command leaves to the program.
    if expected is not None:
        assert of_command(values) == expected


def test_files_that_are_not_there_are_told_before_a_program_is_made(folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    for value in ("none.bin", "a.bin,none.bin", "none/*.bin", "none.bin:2"):
        with pytest.raises(HoneError, match="data.train: no file none.*; hone tokens TEXT --bytes -o "):
            find_data(value, "data.train")
