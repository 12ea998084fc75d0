"""python -m hone: what it writes, and its one-line errors."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import pytest
from conftest import EXAMPLES, ROOT
from hone.__main__ import main
from hone.package import write_package
from test_emit import small_graph

GPT2 = os.path.join(EXAMPLES, "gpt2.py")


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_export(tmp_path, capsys, verified) -> None:
    pytest.importorskip("torch")
    out = str(tmp_path / "tiny.hone")
    status, printed, _ = run(capsys, "export", f"{GPT2}:tiny", "--batch", "3x7", "--golden", "2", "-o", out)
    assert (status, printed) == (0, out + "\n")
    assert sorted(os.listdir(out)) == ["golden.safetensors", "graph.mlir", "manifest.json", "model.safetensors"]
    text = open(os.path.join(out, "graph.mlir")).read()
    assert 'hone.model = "tiny"' in text and 'tensor<3x7xi64> {hone.kind = "input"' in text
    verified(text)


def test_default_output_is_named_after_the_function(tmp_path, capsys, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "export", f"{GPT2}:tiny")[0] == 0
    assert sorted(os.listdir("tiny.hone")) == ["graph.mlir", "manifest.json"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("export",),
        ("import", "x.py:f"),
        ("export", "x.py"),
        ("export", ":f"),
        ("export", "x.py:f", "--batch", "8"),
        ("export", "x.py:f", "--batch", "0x4"),
        ("export", "x.py:f", "--golden", "-1"),
        ("export", "x.py:f", "--golden", "many"),
        ("export", "x.py:f", "--no-such-flag"),
        ("export", "x.py:f", ""),
    ],
)
def test_wrong_command_lines(arguments: tuple, capsys) -> None:
    status, printed, error = run(capsys, *arguments)
    assert status == 2 and printed == "" and error.startswith("error: ") and error.count("\n") == 1


FILES = {
    "x = 1 +\n": "m.py: SyntaxError: ",
    "import no_such_module_at_all\n": "m.py: ModuleNotFoundError: ",
    "x = 1\n": "m.py: has no function 'f', expected one that returns a hone.Training\n",
    "def g(x): pass\ndef h(*, y): pass\ndef i(z=1, *, u=2): pass\ndef j(): pass\ndef _k(): pass\n": (
        "m.py: has no function 'f', expected one of i, j\n"
    ),
    "def f(): return 3\n": "m.py:f: returned a int, expected a hone.Training",
    "def f(): raise ValueError('bad\\nsize')\n": "m.py:f: ValueError: bad",
}


@pytest.mark.parametrize("source", FILES)
def test_wrong_files(source: str, tmp_path, capsys) -> None:
    pytest.importorskip("torch")
    (tmp_path / "m.py").write_text(source)
    status, _, error = run(capsys, "export", f"{tmp_path}/m.py:f", "-o", str(tmp_path / "o.hone"))
    assert status == 1 and error.startswith(f"error: {tmp_path}/{FILES[source]}") and error.count("\n") == 1
    assert not os.path.exists(tmp_path / "o.hone")


def test_a_file_without_its_function(tmp_path, capsys) -> None:
    pytest.importorskip("torch")
    (tmp_path / "m.py").write_text("def f(): pass\ndef g(): pass\n")
    status, _, error = run(capsys, "export", f"{tmp_path}/m.py")
    expected = f"expected {tmp_path}/m.py:f, {tmp_path}/m.py:g; see hone export --help"
    assert (status, error) == (2, f"error: source is '{tmp_path}/m.py', {expected}\n")


def test_missing_file(capsys) -> None:
    pytest.importorskip("torch")
    assert run(capsys, "export", "no/such.py:f") == (1, "", "error: no/such.py: no such file\n")


def test_function_without_batch(tmp_path, capsys) -> None:
    pytest.importorskip("torch")
    (tmp_path / "m.py").write_text("def f(sequence): pass\n")
    status, _, error = run(capsys, "export", f"{tmp_path}/m.py:f", "--batch", "2x3")
    assert status == 1 and "takes no argument 'batch', which --batch needs" in error


def test_unwritable_output(capsys) -> None:
    pytest.importorskip("torch")
    status, _, error = run(capsys, "export", f"{GPT2}:tiny", "-o", "/no/such/folder/t.hone")
    assert status == 1 and error == "error: /no/such/folder/t.hone: cannot be written: No such file or directory\n"


def test_package_imports_and_prints_help_without_torch() -> None:
    script = (
        "import sys; sys.modules['torch'] = None; import hone, hone.emit, hone.package, hone.aten; "
        "from hone.__main__ import main; main(['export', '--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.path.join(ROOT, "python_frontend")},
    )
    assert done.returncode == 0 and "FILE.py:FUNCTION" in done.stdout, done.stderr


def test_seal_accepts_an_edited_graph(tmp_path, capsys) -> None:
    package = tmp_path / "m.hone"
    write_package(str(package), small_graph(), {"hone": "0"}, {})
    before = json.loads((package / "manifest.json").read_text())
    assert run(capsys, "seal", str(package)) == (0, f"{package}: is sealed already\n", "")
    graph = (package / "graph.mlir").read_bytes().replace(b"hone.embedding", b"hone.edited")
    (package / "graph.mlir").write_bytes(graph)
    assert run(capsys, "seal", str(package)) == (0, f"{package}: sealed\n", "")
    after = json.loads((package / "manifest.json").read_text())
    assert after == before | {"fingerprint": hashlib.sha256(graph).hexdigest()} and after != before
    assert sorted(os.listdir(package)) == ["graph.mlir", "manifest.json"]


@pytest.mark.parametrize(
    "files, message",
    [
        ({}, "graph.mlir: cannot be read: No such file or directory"),
        ({"graph.mlir": "", "manifest.json": "{"}, "manifest.json: is not JSON: "),
        ({"graph.mlir": "", "manifest.json": "[]"}, "manifest.json: schema is None, expected 2: export the model"),
        ({"graph.mlir": "", "manifest.json": '{"schema": 1}'}, "manifest.json: schema is 1, expected 2"),
    ],
)
def test_seal_refuses_what_is_no_package(tmp_path, capsys, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    status, printed, error = run(capsys, "seal", str(tmp_path))
    assert (status, printed) == (1, "") and error.startswith(f"error: {tmp_path}/{message}"), error
    assert {name: (tmp_path / name).read_text() for name in files} == files
