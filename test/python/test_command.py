"""The command `hone`: its help, and wrong command lines."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from command import HONEC
from conftest import ROOT
from hone.cli import COMMANDS, main

needs_honec = pytest.mark.skipif(not os.path.exists(HONEC), reason="honec is not built")


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_help_names_each_command(capsys) -> None:
    status, printed, _ = run(capsys, "--help")
    assert status == 0
    assert [line.split()[0] for line in printed.splitlines() if line.startswith("  ")] == list(COMMANDS)


@needs_honec
def test_each_command_has_a_help_and_needs_no_torch() -> None:
    """Nor numpy, which takes as long to import as all the rest."""
    script = (
        "import sys; sys.modules |= dict.fromkeys(['torch', 'transformers', 'numpy'])\n"
        "from hone.cli import COMMANDS, main\n"
        "for name in COMMANDS:\n"
        "    try: main([name, '--help'])\n"
        "    except SystemExit as end: assert end.code == 0\n"
    )
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python_frontend"), "COLUMNS": "120"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert [f"usage: hone {name} " in done.stdout for name in COMMANDS] == [True] * len(COMMANDS)
    assert "--memory-budget SIZE" in done.stdout  # of honec, by its own list


@needs_honec
@pytest.mark.parametrize("name", COMMANDS)
def test_verbose_stands_before_and_behind_a_command(name: str, capsys, tmp_path, monkeypatch) -> None:
    """What is complained about is another flag."""
    monkeypatch.chdir(tmp_path)
    required = ["-o", "x"] if name == "tokens" else []
    for words in (("-v", name), ("--verbose", name), (name, "-v"), (name, "--verbose")):
        status, printed, error = run(capsys, *words, "--no-such-flag", *required)
        assert (status, printed) == (2, ""), (words, error)
        assert "--no-such-flag" in error or "arguments are required: " in error, (words, error)
    status, _, error = run(capsys, name, "--no-such-flag", *required, "x", "-v")
    assert status == 2 and "'-v'" not in error


def test_verbose_reaches_the_command(capsys, tmp_path, monkeypatch) -> None:
    from hone.cli import report

    monkeypatch.setattr(report, "main", lambda argv: print(argv) or 0)
    assert run(capsys, "-v", "report", "RUN") == (0, "['-v', 'RUN']\n", "")
    assert run(capsys, "-v")[2].startswith("error: no command, expected one of new, examples,")
    assert run(capsys, "--verbose", "reprt")[2].startswith("error: 'reprt' is no command (did you mean report?)")


def test_a_reader_that_leaves_is_no_error() -> None:
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python_frontend")}
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "hone", "examples"]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_version(capsys) -> None:
    from hone.version import VERSION

    assert run(capsys, "--version") == (0, f"hone {VERSION}\n", "")


WRONG = {
    (): "no command, expected one of new, examples, tokens,",
    ("trian",): "'trian' is no command (did you mean train?); see hone --help",
    ("export", "x.py:f", "--bach=8x4"): "unrecognized argument '--bach' (did you mean --batch?); see hone export ",
    ("export", "x.py"): "source is 'x.py', expected FILE.py:FUNCTION",
    ("train",): "no run file, expected run.toml or --resume RUN; see hone train --help",
    ("train", "lr=3"): "no run file, expected run.toml or --resume RUN; see hone train --help",
    ("sweep",): "the following arguments are required: RUN.toml",
    ("tokens", "t.txt", "-o", "d"): "expected one of --tokenizer FILE, --bytes and --train-bpe N",
    ("tokens", "t.txt", "-o", "d", "--bytes", "--train-bpe", "999"): "expected one of --tokenizer FILE, --bytes and",
    ("tokens", "t.txt", "-o", "d", "--bytes", "--val", "1"): "--val is 1, expected a share from 0 to below 1",
    ("tokens", "t.txt", "-o", "d", "--train-bpe", "0"): "argument --train-bpe: is '0', expected a whole number >= 1",
    ("new", "gpt", "--width", "100"): "--width is 100, expected a multiple of --heads (6)",
    ("generate",): "the following arguments are required: RUN",
    ("compare",): "the following arguments are required: RUN",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_command_lines(arguments: tuple, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, printed, error = run(capsys, *arguments)
    assert (status, printed) == (2, "")
    assert error.startswith(f"error: {WRONG[arguments]}") and error.count("\n") == 1


@needs_honec
def test_doctor_names_what_is_missing(capsys, monkeypatch) -> None:
    import json

    status, printed, _ = run(capsys, "doctor", "--json")
    found = {row["name"]: row for row in json.loads(printed)}
    assert status == 0 and found["compiler"]["is_ok"] and "honec 0." in found["compiler"]["found"]
    assert all(row["is_ok"] or row["advice"] for row in found.values())

    from hone.cli import doctor

    def uninstalled(name: str):
        raise doctor.metadata.PackageNotFoundError(name)

    with monkeypatch.context() as patch:  # as after the wheel alone was installed
        patch.setattr(doctor.metadata, "version", uninstalled)
        status, printed, _ = run(capsys, "doctor")
    line = next(line for line in printed.splitlines() if line.startswith("packages"))
    assert status == 0 and line.startswith("packages    -        no torch, ") and "whl/cpu torch transformers" in line

    from hone.errors import HoneError

    def absent(name: str):
        raise HoneError(f"{name}: not found")

    monkeypatch.setattr(doctor, "find_tool", absent)
    status, printed, _ = run(capsys, "doctor")
    line = next(line for line in printed.splitlines() if line.startswith("compiler"))
    assert status == 1 and line.endswith("put the folder of honec on PATH, or build it: tools/build.sh release honec")


def test_tool_that_is_missing(monkeypatch, capsys, tmp_path) -> None:
    from hone.cli import tools

    monkeypatch.setattr(tools, "_TREE", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    tools.find_tool.cache_clear()
    tools.honec_options.cache_clear()
    try:
        status, _, error = run(capsys, "compile", "x.py:f")
    finally:
        tools.find_tool.cache_clear()
        tools.honec_options.cache_clear()
    assert status == 1 and error.startswith("error: honec: not found; put the folder that holds it on PATH, or build")


def test_examples_are_copied_with_what_they_import(capsys, tmp_path) -> None:
    status, printed, _ = run(capsys, "examples")
    assert status == 0 and "gpt2 " in printed and "bytes_gpt " in printed
    assert all(line.endswith(".") for line in printed.splitlines()[1:])
    assert run(capsys, "examples", "bytes_gpt", "-o", str(tmp_path))[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["bytes_gpt.py", "gpt2.py"]
    status, _, error = run(capsys, "examples", "bytes_gpt", "-o", str(tmp_path))
    assert status == 1 and error.endswith("is there already, nothing was written\n")
    status, _, error = run(capsys, "examples", "gpt3", "-o", str(tmp_path))
    assert status == 1 and error.startswith("error: 'gpt3': no such example (did you mean gpt2?), expected one of be")


def test_new_writes_files_that_read_as_a_run(capsys, tmp_path) -> None:
    command = ("new", "gpt", "--layers", "2", "--heads", "2", "--width", "32", "--batch", "2x16", "-o", str(tmp_path))
    assert run(capsys, *command)[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["gpt2.py", "model.py", "run.toml"]
    text = (tmp_path / "model.py").read_text()
    assert "Config(vocab=256, context=sequence, layers=2, heads=2, width=32)" in text
    compile(text, "model.py", "exec")
    if os.path.exists(HONEC):
        from hone.cli.run_file import read_run_file

        file = read_run_file(tmp_path / "run.toml")
        assert file.get("compile", "batch") == "2x16" and "--steps=1000" in file.flag_words()
    status, _, error = run(capsys, *command)
    assert status == 1 and error.endswith("model.py: is there already, nothing was written\n")
    status, _, error = run(capsys, "new", "bert", "-o", str(tmp_path / "b"))
    assert status == 1 and error.startswith("error: 'bert': no such model, expected gpt;")


def test_tools_of_a_wheel_come_first(monkeypatch, tmp_path) -> None:
    """A wheel's commands in PATH are none that honec's folder can be told from."""
    from hone.cli import tools

    for place in ("toolchain", "elsewhere"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "honec").write_text(f"#!/bin/sh\necho {place} $0 $*\n")
        (tmp_path / place / "honec").chmod(0o755)
    monkeypatch.setattr(tools, "_TOOLCHAIN", tmp_path / "toolchain")
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"), prepend=os.pathsep)
    tools.find_tool.cache_clear()
    try:
        assert tools.find_tool("honec") == tmp_path / "toolchain" / "honec"
    finally:
        tools.find_tool.cache_clear()


def test_commands_of_a_wheel_become_its_tools(tmp_path) -> None:
    honec = tmp_path / "honec"
    honec.write_text("#!/bin/sh\necho this is $0 $*\n")
    script = (
        "import sys; from pathlib import Path; from hone.cli import tools\n"
        "tools._TOOLCHAIN = Path(sys.argv.pop(1))\n"
        "sys.argv[0] = '/usr/bin/honec'\n"
        "sys.exit(tools.become_tool())\n"
    )
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python_frontend")}

    def become(folder) -> subprocess.CompletedProcess:
        words = [sys.executable, "-c", script, str(folder), "x.hone", "-o", "y"]
        return subprocess.run(words, capture_output=True, text=True, env=environment)

    honec.chmod(0o755)
    assert become(tmp_path).stdout == f"this is {honec} x.hone -o y\n"
    absent = become(tmp_path / "none")
    assert absent.returncode == 1 and "this package was installed without the compiler" in absent.stderr
