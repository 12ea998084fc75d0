"""python -m hone: what it writes, and its one-line errors."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import EXAMPLES, ROOT
from hone.__main__ import main

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
    "x = 1\n": "m.py: has no function 'f'",
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
