#!/usr/bin/env python3
"""Runs what a page of the documentation shows: run_page.py SOURCE_DIR PAGE WORKDIR [--root]

In WORKDIR, which must not exist, and in one shell, in the page's order:

- a block with a file's name, as ```python my_model.py, is written to that file;
- a block of ```sh or ```bash is run, and every command must succeed;
- in a block of ```console, lines after "$ " are commands (with "\\" and here-documents they go on), and the lines below
  are what they print, on either stream. A command may fail if the page shows a line that begins with "error:".

What is printed must hold the lines of the page, one after another. "..." stands for any text, as a line for any lines.
Whole numbers must be the same; numbers with a fraction within 5 %, those with an exponent at most 10 times as large;
times and rates (a unit of UNITS follows) are not compared. The amount of white space is not compared either.

The commands see HONE (SOURCE_DIR), its tools first on PATH, and a cache of their own. --root: WORKDIR also holds the
folders of the repository's root, as the commands of README.md expect. Other blocks are text.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT_FOLDERS = ("build", ".venv", "python_frontend", "tools", "docs")
UNITS = r"\s*(?:s|ms|us|min|h|tok/s|GB/s|TFLOP/s|GFLOP/s|%)(?![\w/])"
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
FENCE = re.compile(r"^```([\w+-]*)[ ]?(\S*)\n(.*?)^```$", re.M | re.S)


@dataclass
class Command:
    text: str
    line: int  # of the page
    printed: list[str] | None = field(default_factory=list)  # None: not compared

    def may_fail(self) -> bool:
        return any(line.startswith("error:") for line in self.printed or ())


def commands_of(body: str, line: int) -> list[Command]:
    """The commands of a console block that begins at a line."""
    found, end = [], ""
    for number, text in enumerate(body.splitlines(), line):
        last = found[-1] if found else None
        if text.startswith("$ "):
            found.append(Command(text[2:], number))
            here = re.search(r"<<-?\s*['\"]?(\w+)", text)
            end = here[1] if here else ""
        elif last is None:
            raise ValueError(f"line {number}: output without a command, expected '$ COMMAND'")
        elif end or last.text.endswith("\\"):
            last.text += "\n" + text
            end = "" if text == end else end
        else:
            last.printed.append(text)
    return found


def number_fits(shown: str, seen: str) -> bool:
    expected, found = (float(text.replace(",", "")) for text in (shown, seen))
    if re.search("[eE]", shown):
        return abs(found) <= 10 * abs(expected)
    if "." in shown:
        return abs(found - expected) <= 0.05 * abs(expected) + 1e-4
    return found == expected


def line_fits(shown: str, seen: str) -> bool:
    """Whether a line of the page stands for one that was printed."""
    pattern, numbers, position = "", [], 0
    shown = shown.strip()
    for match in re.finditer(rf"\s*\.\.\.|\s+|(?<![\w.])({NUMBER})(?![\w.]*\w)({UNITS})?", shown):
        pattern += re.escape(shown[position:match.start()])
        position = match.end()
        if match[0].endswith("..."):
            pattern += ".*"
        elif match[1] is None:
            pattern += r"\s+"
        elif match[2]:
            pattern += rf"\s*{NUMBER}\s*" + re.escape(match[2].strip())
        else:
            pattern += f"({NUMBER})"
            numbers.append(match[1])
    found = re.fullmatch(pattern + re.escape(shown[position:]), seen.strip())
    return found is not None and all(map(number_fits, numbers, found.groups()))


def missing_line(shown: list[str], seen: list[str]) -> str | None:
    """The first line of the page that is not among those printed, in their order."""
    position, anywhere = 0, False
    for line in shown:
        if line.strip() == "...":
            anywhere = True
            continue
        if not line.strip():
            continue
        while position < len(seen) and not seen[position].strip():
            position += 1
        start = position
        while position < len(seen) and not line_fits(line, seen[position]) and anywhere:
            position += 1
        if position == len(seen) or not line_fits(line, seen[position]):
            return line + (f"   (here: {seen[start]})" if start < len(seen) and not anywhere else "")
        position, anywhere = position + 1, False
    rest = [] if anywhere else [line for line in seen[position:] if line.strip()]
    return f"(the end; then came: {rest[0]})" if shown and rest else None


def read_page(text: str, work: Path) -> list[Command]:
    """The commands. Files are written by commands too, so that the order is the page's."""
    found = []
    for index, match in enumerate(FENCE.finditer(text)):
        language, name, body = match.groups()
        line = text.count("\n", 0, match.start()) + 2
        if name:
            (work / "cache" / f"block{index}").write_text(body)
            found.append(Command(f'mkdir -p "$(dirname {name})"; cp "$XDG_CACHE_HOME/block{index}" {name}', line, None))
        elif language == "console":
            found += commands_of(body, line)
        elif language in ("sh", "bash"):
            found.append(Command(f"set -e\n{body}set +e", line, None))
    return found


def run(source: Path, page: Path, work: Path, is_root: bool) -> list[str]:
    (work / "cache").mkdir(parents=True)
    for name in ROOT_FOLDERS if is_root else ():
        (work / name).symlink_to(source / name)
    commands = read_page(page.read_text(encoding="utf-8"), work)
    if not commands:
        return [f"{page}: shows no command, expected blocks of console, sh or files"]
    logs = work / "cache" / "logs"
    logs.mkdir()
    script = "set -u -o pipefail\n"
    for index, command in enumerate(commands):
        script += f"{{ {command.text}\n}} > {logs}/{index} 2>&1 < /dev/null\n"
        script += f"code=$?; echo $code > {logs}/{index}.code\n"
        if not command.may_fail():
            script += "[ $code = 0 ] || exit 1\n"
    path = os.pathsep.join([str(source / "build/bin"), str(source / ".venv/bin"), os.environ["PATH"]])
    environment = os.environ | {"HONE": str(source), "PATH": path, "XDG_CACHE_HOME": str(work / "cache"),
                                "COLUMNS": "120", "HF_HUB_OFFLINE": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run(["bash", "-c", script], cwd=work, env=environment)
    wrong = []
    for index, command in enumerate(commands):
        log, code = logs / str(index), logs / f"{index}.code"
        printed = log.read_text(errors="replace").splitlines() if log.exists() else []
        status = int(code.read_text()) if code.exists() else 1
        place = f"{page.name}:{command.line}: {command.text.strip().splitlines()[0]}"
        if status and not command.may_fail():
            return [*wrong, "\n".join([f"{place}: fails with exit code {status}:", *printed[-20:]])]
        if not status and command.may_fail():
            wrong.append(f"{place}: succeeds, expected its error")
        if command.printed is not None and (line := missing_line(command.printed, printed)) is not None:
            wrong.append("\n".join([f"{place}: does not print", f"    {line}", "but:", *printed[-40:]]))
    return wrong


def main(argv: list[str]) -> int:
    is_root = "--root" in argv
    source, page, work = (Path(name).resolve() for name in argv[1:] if name != "--root")
    began = time.monotonic()
    wrong = run(source, page, work, is_root)
    print("\n".join(wrong) if wrong else f"{page.name}: runs as shown, in {time.monotonic() - began:.1f} s")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
