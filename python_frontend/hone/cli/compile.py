"""hone compile: from a model to an executable, by packages and programs that were made before where they still hold."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Sequence

from ..errors import HoneError
from ..version import VERSION
from .cache import Request, cache_folder, key_of, making, stamp, write_whole
from .command import Parser, show, show_command
from .export import add_options, is_function, option_words
from .made_from import sha256_of
from .tools import find_tool, honec_options, resources, run

# What honec writes instead of an executable, or besides it.
_SPECIAL = ("emit", "dry-run", "time-phases", "report", "dump-schedule")


@dataclass(frozen=True)
class Program:
    """An executable in the cache, which stays as it is."""

    path: Path
    report: Path


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    options = [
        word
        for name, option in honec_options().items()
        if name != "o" and (value := getattr(arguments, name))
        for word in ([f"--{name}"] if option.value is None else [f"--{name}={value}"])
    ]
    batch = "x".join(map(str, arguments.batch)) if arguments.batch else None
    words = option_words(batch, arguments.weights, arguments.frozen, arguments.labels)
    package = find_package(arguments, arguments.source, words)
    if any(getattr(arguments, name) for name in _SPECIAL):
        command = [find_tool("honec"), package, *options, *(["-o", arguments.o] if arguments.o else [])]
        show_command(arguments, command)
        return subprocess.run(command).returncode
    program = find_program(arguments, package, options)
    out = Path(arguments.o or "train")
    install(program.path, out)
    show(arguments, {"program": str(out), "package": str(package)}, str(out))
    return 0


def find_package(arguments: argparse.Namespace, source: str, options: Sequence[str]) -> Path:
    """The package of a source, made before or now; a source that is a package stands for itself."""
    if (Path(source) / "manifest.json").is_file():
        if options:
            raise HoneError(f"{source}: is a package, {options[0]} is for a model that is exported")
        return Path(source)
    path = source.rpartition(":")[0] if is_function(source) else source
    if is_function(source) and not os.path.isfile(path):
        raise HoneError(f"{path}: no such file")
    asked = {
        "source": os.path.abspath(path) + source[len(path) :] if os.path.exists(path) else source,
        "options": list(options),
        "versions": [VERSION, *_versions(), sys.version, _front_end()],
    }
    request = Request(asked)
    name = (source.rpartition(":")[2] if is_function(source) else os.path.basename(source.rstrip("/"))) + ".hone"
    key = request.content_key()
    if key and (cache_folder("packages") / key).is_dir():
        return cache_folder("packages") / key / name
    print(f"exporting {source}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=cache_folder("packages"), prefix=".export-") as folder:
        package, made_from, since = Path(folder) / name, Path(folder) / "files.json", time.time_ns()
        command = [sys.executable, "-m", "hone", "export", source, *options, "-o", package, "--made-from", made_from]
        _export(arguments, command)
        request.remember(json.loads(made_from.read_text()), since)
        final = cache_folder("packages") / request.content_key()
        with making(final) as made:
            os.rename(package, made / name)
    return final / name


def find_program(arguments: argparse.Namespace, package: Path, options: Sequence[str]) -> Program:
    """The executable of a package, compiled before or now."""
    honec = find_tool("honec")
    contents = {p.name: stamp(p) if p.suffix == ".safetensors" else sha256_of(p) for p in package.iterdir()}
    compiler = {str(path): stamp(path) for path in [honec, *sorted(resources().iterdir())]}
    key = key_of([str(package.resolve()), contents, list(options), compiler, _processor()])
    final = cache_folder("programs") / key
    if not final.is_dir():
        print(f"compiling {package.name}", file=sys.stderr, flush=True)
        with making(final) as made:
            run(arguments, [honec, package, "-o", made / "train", f"--report={made / 'report'}", *options], quiet=True)
    return Program(final / "train", final / "report")


def install(program: Path, out: Path) -> None:
    """Copies an executable over another, which may be running."""
    try:
        write_whole(out, program.read_bytes())
        os.chmod(out, 0o755)
    except OSError as error:
        raise HoneError(f"{out}: cannot be written: {error.strerror}") from None


def _parser() -> Parser:
    parser = Parser(
        "compile",
        "Compiles a model into an executable that trains it. It is exported first, unless it is a package. Packages "
        "and executables are kept in ~/.cache/hone, and made anew when a file changes that they were made from.",
    )
    parser.add_argument("source", metavar="SOURCE", help="what hone export takes, or a package")
    add_options(parser)
    parser.add_json()
    group = parser.add_argument_group("options of honec")
    for name, option in honec_options().items():
        flags = ["-o"] if name == "o" else [f"--{name}"]
        text = option.help.replace("%", "%%")
        if option.value is None:
            group.add_argument(*flags, dest=name, action="store_true", help=text)
        else:
            group.add_argument(*flags, dest=name, metavar=option.value, help=text)
    return parser


def _export(arguments: argparse.Namespace, command: Sequence[object]) -> None:
    """In a process of its own, so that torch does not stay in memory while the program trains."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    run(arguments, command, quiet=True, environment={"PYTHONPATH": os.pathsep.join(paths)})


def _versions() -> list[str]:
    """Of what takes part in an export; found without importing it."""
    found = []
    for name in ("torch", "transformers", "peft", "safetensors", "numpy"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            pass
    return found


def _front_end() -> str:
    folder = Path(__file__).resolve().parents[1]
    return key_of({str(p.relative_to(folder)): stamp(p) for p in sorted(folder.rglob("*.py"))})


def _processor() -> str:
    """Programs are for the processor of this machine, unless --arch says otherwise; homes are shared between them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return ""
