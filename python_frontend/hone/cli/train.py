"""hone train: makes the folder of a run, and becomes its training program, so that signals and exit codes are its."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Sequence

from ..errors import HoneError
from .command import Parser, Usage, show_command
from .compile import Program, find_package, find_program, install
from .run_file import EXPORT, RunFile, read_run_file
from .runs import Run, open_run
from .token_data import check_vocabulary, find_data, label_input
from .tools import program_flags
from .tools import run as run_tool


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    if arguments.resume:
        changes = [*filter(None, [arguments.file]), *arguments.changes]
        run = open_run(arguments.resume)
        command = resume(arguments, run, changes)
    else:
        if not arguments.file or "=" in arguments.file:
            raise Usage("no run file, expected run.toml or --resume RUN; see hone train --help")
        file = read_run_file(arguments.file)
        for change in arguments.changes:
            file.change(change)
        name = file.get("", "name") or Path(arguments.file).stem
        given = {change.partition("=")[0].rpartition(".")[2] for change in arguments.changes}
        if "name" in given and "tensorboard" not in given:  # the run file's folder is that of its own run
            file.put_curves_below(name)
        run = Run(Path(arguments.runs) / name)
        command = prepare(arguments, file, run)
    show_command(arguments, command)
    sys.stdout.flush()
    try:
        os.execvpe(command[0], command, os.environ | run.environment)
    except OSError as error:
        raise HoneError(f"{command[0]}: cannot be run: {error.strerror}") from None


def prepare(arguments: argparse.Namespace, file: RunFile, run: Run) -> list[str]:
    """Makes the folder of a new run. Returns the command that trains."""
    if run.has_begun():
        raise HoneError(
            f"{run.folder}: holds a run; hone train --resume {run.folder} goes on, name=OTHER starts another one"
        )
    start = _start(file)
    _check_launch(file)
    _find_end_of_documents(file)
    words, facts, program = _compiled(arguments, file)
    words = [*words, *start, f"--checkpoint-dir={run.checkpoints}"]
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        command = _launch(file, run, words)
        _check(arguments, program.path, file, run, words)
        (run.folder / "run.toml").write_text(file.text(), encoding="utf-8")
        run.data.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    except OSError as error:
        raise HoneError(f"{error.filename}: {error.strerror}") from None
    _install(program, run)
    return command


def _check(arguments: argparse.Namespace, program: Path, file: RunFile, run: Run, words: Sequence[str]) -> None:
    """The program's own check of its flags and files, before the run's folder is changed."""
    if "check" in program_flags(program):  # one of an earlier version refuses later
        try:
            run_tool(arguments, [program.resolve(), "--check", *_flags(file, run, words)], quiet=True)
        except HoneError as error:
            raise file.in_its_words(error, "data", "train", "log") from None


def _install(program: Program, run: Run) -> None:
    """The run's program, and the compiler's report of it."""
    install(program.path, run.program)
    shutil.rmtree(run.report, ignore_errors=True)
    shutil.copytree(program.report, run.report)


def resume(arguments: argparse.Namespace, run: Run, changes: Sequence[str]) -> list[str]:
    """The command that goes on with a run, whose program stays unless a change concerns it. The program itself
    compares its flags with those of the run, and lists what differs."""
    if not run.has_begun():
        raise HoneError(f"{run.folder}: has no checkpoint yet; hone train with its run file starts it again")
    file = run.file()
    before = file.copy()
    for change in changes:
        file.change(change)
    _find_end_of_documents(file)
    old, new = before.values(), file.values()
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key) and not file.is_flag(key):
            print(f"resume: {key} {_shown(new.get(key))} (before: {_shown(old.get(key))})", flush=True)
    if file.get("", "name") != before.get("", "name"):
        raise HoneError("name: a run keeps its name; hone train RUN.toml name=OTHER starts another one")
    is_same = before.honec_words() == file.honec_words() and all(
        old.get(key) == new.get(key) for key in ("model", *(f"compile.{name}" for name in EXPORT))
    )
    if is_same:
        words, facts, program = data_words(file, Path(run.facts()["package"])), run.facts(), None
    else:
        words, facts, program = _compiled(arguments, file)
    words = [*words, f"--resume={run.checkpoints}"]
    command = _launch(file, run, words)
    # Before the run's folder is changed: the program knows what its checkpoints hold.
    try:
        _check(arguments, program.path if program else run.program, file, run, words)
    except HoneError as error:
        hint = f"; hone train RUN.toml name=OTHER init={run.folder} starts another run from its weights"
        raise HoneError(f"{error}{hint if program else ''}") from None
    if program:
        _install(program, run)
        run.data.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    if old != new:
        (run.folder / "run.toml").write_text(file.text(), encoding="utf-8")
    return command


def _parser() -> Parser:
    parser = Parser(
        "train",
        "Trains what a run file says: compiles the model where that was not done yet, checks that the tokens fit it, "
        "and keeps everything in runs/NAME: run.toml, train (the program), report, log.jsonl, checkpoints, "
        "weights.safetensors. docs/command.md lists the keys.",
    )
    parser.add_argument("file", metavar="RUN.toml", nargs="?", help="the run file")
    parser.add_changes()
    parser.add_argument("--resume", metavar="RUN", help="go on with the run of this folder; what changes is listed")
    parser.add_argument("--runs", metavar="DIR", default="runs", help="where the folders of runs are (default runs)")
    return parser


def _compiled(arguments: argparse.Namespace, file: RunFile) -> tuple[list[str], dict, Program]:
    """The flags of the data, what data.json holds, and the program."""
    train = file.get("data", "train")
    data = find_data(train, "data.train") if train else None
    has_labels = data is not None and data.has_labels
    model = file.get("", "model")
    is_pretrained = has_labels and ".py:" not in model and not (Path(model) / "manifest.json").is_file()
    package = find_package(arguments, model, file.export_words(labels=is_pretrained))
    if data:
        check_vocabulary(data, package, model)
    words = data_words(file, package)
    facts = {
        "package": str(package.resolve()),
        "tokens": str(Path(data.files[0]).parent.resolve()) if data and data.facts else None,
    }
    try:
        return words, facts, find_program(arguments, package, file.honec_words())
    except HoneError as error:
        raise file.in_its_words(error, "compile") from None


def _find_end_of_documents(file: RunFile) -> None:
    """Puts the id that ends documents, by tokens.json, in the place of "eos"."""
    if file.get("compile", "documents") != "eos":
        return
    train = file.get("data", "train")
    end = find_data(train, "data.train").facts.get("end_id") if train else None
    if end is None:
        raise HoneError(
            'compile.documents: is "eos", and no tokens.json beside the files of data.train says which id ends a '
            "document; expected that id, as documents = 50256"
        )
    file.put("compile", "documents", end)


def data_words(file: RunFile, package: Path) -> list[str]:
    """The flags that feed the program."""
    words = []
    for key, flag, name in (("train", "data", "input"), ("val", "val-data", "val-input")):
        if not (given := file.get("data", key)):
            continue
        data = find_data(given, f"data.{key}")
        words += [f"--{flag}={value}" for value in data.values]
        if data.has_labels:
            target = label_input(package, file.get("", "model"))
            kind = {"i64": "<i8", "i32": "<i4"}[target["dtype"]]
            words.append(f"--{name}={target['fqn']}={data.labels(target['shape'], kind)}")
    if file.has_flag("generate") and not file.has_flag("tokenizer"):
        words += _tokenizer_of(file)
    return words


def _tokenizer_of(file: RunFile) -> list[str]:
    """That of the tokens, for the text of `generate`; the program reads bytes without one."""
    data = find_data(file.get("data", "train"), "data.train") if file.get("data", "train") else None
    if data is None or data.facts.get("tokenizer", "bytes") == "bytes":
        return []
    return [f"--tokenizer={Path(data.files[0]).parent / data.facts['tokenizer']}"]


def _start(file: RunFile) -> list[str]:
    """--init, where the file says so: of a run its newest weights, of others what the program finds there."""
    if not (given := file.get("", "init")):
        return []
    path = Path(given)
    if (path / "run.toml").is_file():
        path = open_run(path).weights()
    elif not path.exists():
        expected = "expected weights (safetensors), a folder that has some, a run"
        raise HoneError(f"init: no file or folder {path}, {expected}")
    return [f"--init={path}"]


def _check_launch(file: RunFile) -> None:
    ranks = file.ranks()
    is_launched = any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "WORLD_SIZE"))
    if ranks > 1 and not file.get("", "launch") and not is_launched:
        words = f"torchrun --no-python --nproc-per-node={ranks} --"
        start = words if file.get("compile", "target") == "cuda" else f"mpirun -np {ranks}"
        raise HoneError(
            f"{file.path}: has no key launch, and its mesh has {ranks} ranks; expected what starts them, as "
            f'launch = "{start}" at the top'
        )


def launcher(file: RunFile) -> list[str]:
    """What starts a program of several ranks."""
    return shlex.split(file.get("", "launch") or "")


def _launch(file: RunFile, run: Run, words: Sequence[str]) -> list[str]:
    for section in ("train", "log"):  # the program makes the folder of a run, not that of all
        if curves := file.get(section, "tensorboard"):
            Path(curves).parent.mkdir(parents=True, exist_ok=True)
    return [*launcher(file), os.path.join(".", run.program), *_flags(file, run, words)]


def _flags(file: RunFile, run: Run, words: Sequence[str]) -> list[str]:
    return [*words, f"--log={run.log}", f"--save={run.saved}", *file.flag_words()]


def _shown(value: object) -> str:
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)
