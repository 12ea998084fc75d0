#!/usr/bin/env python3
"""Writes the pages of options, from what the built tools say of themselves: options_pages.py FOLDER [BUILD_BIN]

honec.md, train.md (compiled programs), hone-opt.md (with hone-run) and hone.md; BUILD_BIN is build/bin unless given.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- Written by tools/options_pages.py; do not edit it. -->\n"

HONEC = """\
# Options of honec

`honec PACKAGE.hone -o FILE [options]` compiles an exported model into one executable that trains it. `honec FILE.mlir
--from=PHASE -o FILE [options]` goes on with a module that `--emit=mlir --upto=PHASE` has left; `-` is standard input.
"""

TRAIN = """\
# Flags of compiled programs

Every executable that `honec` makes takes these, as `--flag VALUE` or `--flag=VALUE`; a run file of `hone train` has
them as keys ([command](../command.md)). `hone-run PACKAGE.hone` takes them too and trains in the interpreter.
"""

HONE_OPT = """\
# Tools for IR

`hone-opt FILE.mlir [options]` runs passes, each by its name: those of Hone are on the pages of
[transforms](TransformsPasses.md), [sharding](ShardingPasses.md), [code generation](CodegenPasses.md) and
[targets](TargetPasses.md). `--load-pass-plugin=FILE.so` adds those of a library ([plugins](../rationale/plugins.md)).
Other options are MLIR's: `hone-opt --help`.

## `hone-opt --hone-pipeline="OPTION=VALUE ..."`

Runs the phases that honec runs, from one to another.
"""

HONE = """\
# The command `hone`

`hone COMMAND ...`: what each command takes, beside `--help` and `-v`, `--verbose`, which prints the programs that it
runs. [command](../command.md) explains them in use."""


def entry(head: str, text: str) -> list[str]:
    """An item of a list: an option and its meaning."""
    return textwrap.wrap(f"- `{head}`: {text}" if text else f"- `{head}`", 120, subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)


def output(*command: object) -> str:
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True).stdout


def options_of(*command: object, separator: str) -> list[str]:
    lines = []
    for row in json.loads(output(*command, "--help-json"))["options"]:
        dashes = "-" if len(row["name"]) == 1 else "--"
        value = (" " if dashes == "-" else separator) + row["value"] if row["value"] else ""
        if row.get("alone"):
            value = f"[={row['value']}]"
        again = "; may be given several times" if row.get("repeats") else ""
        lines += entry(f"{dashes}{row['name']}{value}", row["help"] + again)
    return lines


def notes_of_train(tool: Path) -> list[str]:
    """What follows the flags in the help of a program."""
    return ["", "```text", output(tool, "--help").rpartition("\n\n")[2].rstrip(), "```"]


def pipeline_options(tool: Path) -> list[str]:
    lines, inside = [], False
    for line in output(tool, "--help").splitlines():
        if re.match(r" {1,6}--", line):
            inside = line.split()[0] == "--hone-pipeline"
        elif inside and (found := re.match(r" {8}--(\S+)\s+- (.*)", line)):
            lines += entry(re.sub("[<>]", "", found[1]), found[2])
    return lines


class Asked(Exception):
    """The parser that was asked for its help."""


def parser_of(command: str) -> argparse.ArgumentParser:
    def answer(parser: argparse.ArgumentParser, file: object = None) -> None:
        raise Asked(parser)

    kept, argparse.ArgumentParser.print_help = argparse.ArgumentParser.print_help, answer
    try:
        import_module(f"hone.cli.{command}").main(["--help"])
    except Asked as asked:
        return asked.args[0]
    finally:
        argparse.ArgumentParser.print_help = kept
    raise ValueError(f"hone {command} --help: has no parser, expected one of argparse")


def commands_of_hone(honec: Path) -> list[str]:
    from hone.cli import COMMANDS

    of_honec = {"--" + row["name"] for row in json.loads(output(honec, "--help-json"))["options"]}
    lines = []
    for command, text in COMMANDS.items():
        parser = parser_of(command)
        lines += ["", f"## `hone {command}`", ""]
        described = parser.description or text[0].upper() + text[1:] + "."
        lines += [*textwrap.wrap(" ".join(described.split()), 120, break_on_hyphens=False), ""]
        for action in parser._actions:
            if action.help == argparse.SUPPRESS or {"--help", "--verbose"} & set(action.option_strings):
                continue
            if command == "compile" and set(action.option_strings) & of_honec:
                continue
            value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else
                                       "" if action.nargs == 0 else action.dest.upper())
            head = ", ".join(action.option_strings) + " " + str(value)
            lines += entry(head.strip(), (action.help or "").replace("%(default)s", str(action.default)))
        if command == "compile":
            lines.append("- all [options of honec](honec.md)")
    return lines


def main(argv: list[str]) -> int:
    if len(argv) not in (2, 3):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    folder, tools = Path(argv[1]), Path(argv[2] if len(argv) == 3 else ROOT / "build/bin")
    sys.path.insert(0, str(ROOT / "python_frontend"))
    os.environ["PATH"] = f"{tools.resolve()}{os.pathsep}{os.environ['PATH']}" # where hone compile finds honec
    hone_run = ["", "## hone-run", "", "```text", output(tools / "hone-run", "--help").rstrip(), "```"]
    pages = {
        "honec": [HONEC, *options_of(tools / "honec", separator="=")],
        "train": [TRAIN, *options_of(tools / "honert-flags", separator=" "), *notes_of_train(tools / "honert-flags")],
        "hone-opt": [HONE_OPT, *pipeline_options(tools / "hone-opt"), *hone_run],
        "hone": [HONE, *commands_of_hone(tools / "honec")],
    }
    for name, lines in pages.items():
        (folder / f"{name}.md").write_text(MARK + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
