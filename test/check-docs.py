#!/usr/bin/env python3
"""Checks that what the documentation names exists: check-docs.py SOURCE_DIR BUILD_BIN [PAGE...].

Paths, names of files, passes (hone-raise), ops and attributes (hone.abs), and command-line options, each against where
it is defined: the tree, the help of the tools, the generated reference, string literals of the sources. Lines of prose
have at most 120 characters. Without PAGE: README.md, CHANGELOG.md, docs/ and the READMEs of parts. Prints PAGE:LINE: what is wrong; exit 1 if there is something.
"""

from __future__ import annotations

import fnmatch
import functools
import glob
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

SOURCE = Path(sys.argv[1])
BIN = Path(sys.argv[2])
PAGES = ("README.md", "CHANGELOG.md", "docs/*.md", "docs/tutorials/*.md", "docs/rationale/*.md", "docs/benchmarks/*.md",
         "runtime/README.md", "python_frontend/README.md")
WIDTH = 120

ROOMS = "cmake|docs|include|lib|python_frontend|runtime|test|tools"
PATH = re.compile(rf"(?<![\w/.<%$-])((?:\.\./)?(?:{ROOMS})/[\w./*{{}},+-]*[\w*}}/])(?![\w<])")
# A file without its folder, `CheckProgram.cpp`; a room's file without its suffix, `Analysis/Cost/KernelCost`.
FILE = re.compile(r"`([\w.-]+\.(?:cpp|h|td|def|py|sh|test|md))`")
ROOM_FILE = re.compile(r"`((?:[A-Z]\w+/)+\w+)(?:\.(?:h|cpp))?`")
PASS = re.compile(r"(?<![\w/.-])(?:--?)?((?:hone|dist|plan)-[a-z][a-z0-9-]*)(?![\w.<*{-])")
NAME = re.compile(r"(?<![\w/.@-])((?:hone|dist|plan)\.[a-z_]\w*(?:\.[a-z_]\w*)*)(?![\w(/])")
OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]*)(?![\w<*-])")
SUFFIXES = ("mlir", "md", "py", "pth", "json", "safetensors", "txt", "html", "svg", "jsonl")

# Folders of a build and of an installation.
BUILT = {"lib/honec", "lib/honec/shared", "lib/hone-null-driver"}

# Files that `hone new` writes, which pages name.
WRITTEN = {"model.py"}

# Options of programs that are not ours, as pages use them.
FOREIGN = {
    "cmake": ("--build", "--fresh", "--install", "--prefix", "--preset", "--target", "--component", "--list-presets"),
    "FileCheck": ("--check-prefix",),
    "docker": ("--rm",),
    "git": ("--stat",),
    "sbatch": ("--nodes", "--ntasks-per-node", "--time", "--signal"),
    "lit.py": ("--filter", "--param"),
    "$lit": ("--filter", "--param"),
    "mpirun": ("--allow-run-as-root", "--oversubscribe", "--mca", "--map-by", "--bind-to", "--use-hwthread-cpus",
               "--hostfile"),
    "pip": ("--extra-index-url", "--index-url"),
    "python": ("--version",),
    "python3": ("--version",),
    "gtest": ("--gtest_filter", "--gtest_brief", "--gtest_also_run_disabled_tests"),
    "srun": ("--mpi", "--signal", "--kill-on-bad-exit"),
    "torchrun": ("--nnodes", "--node-rank", "--master-addr", "--no-python", "--nproc-per-node"),
}


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=SOURCE)
    return done.stdout + done.stderr


@functools.lru_cache(None)
def tracked() -> list[str]:
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, capture_output=True, text=True, cwd=SOURCE)
    if listed.returncode == 0:
        return [path for path in listed.stdout.splitlines() if (SOURCE / path).exists()]
    files = (path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file())
    return [str(path) for path in files if path.parts[0] not in ("build", ".venv", ".git")]


@functools.lru_cache(None)
def file_names() -> set[str]:
    return {name for path in tracked() for name in (Path(path).name, Path(path).stem)}


@functools.lru_cache(None)
def scripts() -> dict[str, str]:
    return {Path(path).name: path for path in tracked() if path.endswith((".py", ".sh"))}


@functools.lru_cache(None)
def sources(*rooms: str) -> str:
    kinds = (".cpp", ".h", ".td", ".def", ".py", ".c", ".sh", ".txt")
    rooms = rooms or ("cmake/", "include/", "lib/", "runtime/", "python_frontend/", "tools/", "test/", "CMakeLists.txt")
    return "\n".join((SOURCE / path).read_text(encoding="utf-8", errors="replace") for path in tracked()
                     if path.endswith(kinds) and path.startswith(rooms) and path != "test/check-docs.py")


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))


@functools.lru_cache(None)
def options_of(tool: str) -> set[str] | None:
    """None: not a tool of ours."""
    fixture = str(SOURCE / "test/fixtures/gpt2_tiny.hone")
    if tool.startswith("train"):
        return options_of("hone-run PACKAGE")
    if tool == "hone-run PACKAGE":
        return options_in(run(str(BIN / "hone-run"), fixture, "--help")) | options_of("hone-run")
    if tool in FOREIGN:
        return set(FOREIGN[tool])
    if tool == "hone":
        environment = (f"PYTHONPATH={SOURCE}/python_frontend", f"PATH={BIN}:{os.environ['PATH']}")
        hone = ("env", *environment, sys.executable, "-m", "hone")
        commands = re.findall(r"^  (\w+)", run(*hone, "--help"), re.M)
        return options_in("".join(run(*hone, command, "--help") for command in commands)) | {"--help", "--version"}
    if (BIN / tool).is_file():
        help_text = run(str(BIN / tool), "--help-hidden" if tool in ("hone-opt", "hone-reduce") else "--help")
        return options_in(help_text) | ({"--help", "--version"})
    if tool not in scripts():
        return None
    # Most scripts hand options on to the programs that they run.
    return options_in((SOURCE / scripts()[tool]).read_text(encoding="utf-8")) | all_options()


@functools.lru_cache(None)
def all_options() -> set[str]:
    tools = ("honec", "hone", "hone-opt", "hone-reduce", "hone-run PACKAGE", "hone-plan-attention", *FOREIGN)
    known = set(itertools.chain(*(options_of(tool) or () for tool in tools)))
    known |= set(re.findall(r"""add_argument\(\s*(?:"-\w", )?"(--[\w-]+)\"""", sources()))
    known |= set(re.findall(r'''"(--[\w-]+)[ ="]''', sources("runtime/", "tools/hone-", "test/unit/")))
    return known


@functools.lru_cache(None)
def pass_or_tool_names() -> set[str]:
    listed = {option[2:] for option in options_of("hone-opt")}
    targets = re.findall(r"add_(?:executable|library|custom_target)\(([\w-]+)", sources())
    words = re.findall(r'"((?:hone|dist|plan)-[\w-]+)"', sources())
    return listed | set(targets) | set(words) | file_names() | {Path(path).parent.name for path in tracked()}


@functools.lru_cache(None)
def names() -> set[str]:
    pages = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "docs/generated").glob("*.md"))
    known = set(re.findall(r"^### `?((?:hone|dist|plan)\.[\w.]+)", pages, re.M))
    known |= set(re.findall(r"""["'`]((?:hone|dist|plan)\.[\w.]+)""", sources()))
    package = SOURCE / "python_frontend/hone"
    known |= {f"hone.{path.stem}" for path in package.glob("*.py")} | {"hone.aten", "hone.cli"}
    if (init := package / "__init__.py").exists():
        known |= {f"hone.{name}" for name in re.findall(r"\w+", init.read_text(encoding="utf-8"))}
    return known


def alternatives(path: str) -> list[str]:
    """"a/{b,c}" as ["a/b", "a/c"]."""
    match = re.search(r"\{([^{}]*)\}", path)
    if not match:
        return [path]
    return [name for choice in match[1].split(",")
            for name in alternatives(path[:match.start()] + choice + path[match.end():])]


@functools.lru_cache(None)
def known_paths() -> set[str]:
    """Files, their folders, and both without suffix."""
    files = set(tracked())
    folders = {str(folder) for path in files for folder in Path(path).parents}
    return files | folders | {str(Path(path).with_suffix("")) for path in files}


def path_exists(path: str, page: Path) -> bool:
    if "*" in path:
        return any(fnmatch.fnmatchcase(known, path) for known in known_paths())
    inside = page.parent.relative_to(SOURCE) if page.is_relative_to(SOURCE) else Path()
    near = {os.path.normpath(folder / path) for folder in (Path(), inside, inside.parent)}
    return bool(near & known_paths()) or path in BUILT


def room_file_exists(path: str) -> bool:
    return any(path in name for name in tracked())


@functools.lru_cache(None)
def files_of(page: Path) -> set[str]:
    """Names of the files that the blocks of a page are."""
    return set(re.findall(r"^```\w+ (\S+)$", page.read_text(encoding="utf-8"), re.M))


def wrong_names(text: str, page: Path) -> list[str]:
    found = []
    # A test of the build is that of the source.
    for path in PATH.findall(text.replace("build/test/", "test/")):
        found += [f"no file {name}" for name in alternatives(path.rstrip("/")) if not path_exists(name, page)]
    found += [f"no file named {name}" for name in FILE.findall(text)
              if name not in file_names() | WRITTEN | files_of(page)]
    found += [f"no file {name}" for name in ROOM_FILE.findall(text) if not room_file_exists(name)]
    found += [f"no pass or tool {name}" for name in PASS.findall(text)
              if name not in pass_or_tool_names()]
    for name in NAME.findall(text):
        if name not in names() and name.rpartition(".")[2] not in SUFFIXES:
            found.append(f"no op, attribute or function {name}")
    return found


def unknown_options(text: str) -> list[str]:
    """Options without their command, which no program has."""
    return [f"no option {name}" for name in OPTION.findall(text) if name not in all_options()]


def tools_of(words: list[str]) -> list[str]:
    """Programs of a command whose options are known: `env A=B mpirun -n 2 ./train --steps 1` has two."""
    names = [Path(word).name for word in words if not word.startswith("-")]
    if "hone-run" in names and any(name.endswith(".hone") for name in names):
        names.append("hone-run PACKAGE")
    return [name for name in names if options_of(name) is not None]


def wrong_options(command: str) -> list[str]:
    """Options that the programs of a command do not know."""
    found = []
    for part in re.split(r"\||&&|;", command):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        if not (tools := tools_of(words)):
            found += unknown_options(part)
            continue
        known = set().union(*map(options_of, tools))
        options = [word.split("=")[0] for word in words if re.match("--[a-z]", word)]
        found += [f"{tools[-1]} has no option {option}" for option in options if option not in known]
    return found


def check(page: Path) -> list[str]:
    found, fenced, command = [], False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        wrong = wrong_names(line, page)
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            command += line.rstrip("\\")
            if not line.endswith("\\"):
                wrong += wrong_options(command)
                command = ""
        else:
            for span in re.findall(r"`([^`]+)`", line):
                wrong += wrong_options(span)
            wrong += unknown_options(re.sub(r"`[^`]+`", "", line))
            if len(line) > WIDTH and not line.startswith("|"):
                wrong.append(f"{len(line)} characters, expected at most {WIDTH}")
        place = page.relative_to(SOURCE) if page.is_relative_to(SOURCE) else page
        found += [f"{place}:{number}: {what}" for what in wrong]
    return found


pages = [Path(name) for name in sys.argv[3:]] or [Path(name) for each in PAGES
                                                for name in sorted(glob.glob(str(SOURCE / each)))]
found = [what for page in pages for what in check(page)]
print(*found, sep="\n")
sys.exit(bool(found))
