"""run.toml, the only configuration file: keys are flags of the training program and options of honec.

    model = "model.py:gpt"                 what hone export takes, or a package
    name = "first"                         of the folder in runs/; default: the name of the file
    init = "base/"                         weights to start from: a file, a folder with one, or a run
    launch = "mpirun -np 4"                what starts the program
    [data]     train, val (files, "data/train-*.npy"), and flags of the program
    [compile]  batch, weights, frozen (of hone export), and options of honec
    [train]    flags of the program
    [log]      its flags log-KEY as KEY, and its other flags

A flag without value is written as true. Which flags and options there are is what the tools themselves say.
"""

from __future__ import annotations

import copy
import json
import math
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Collection, Mapping

from ..errors import HoneError
from .command import suggestion
from .export import option_words
from .toml_text import read_toml
from .tools import Option, honec_options, program_flags

TOP = ("model", "name", "init", "launch")
DATA = ("train", "val")
EXPORT = ("batch", "weights", "frozen")
# The option of honec that makes a program generate.
WITH_GENERATE = "--with=generate"
# What only divides a step among ranks and micro-batches: one rank generates.
OF_RANKS = (
    "mesh", "recipe", "schedule", "cuts", "cluster", "micro-batches", "overlap", "overlap-pieces", "moe-factor",
    "moe-overflow",
)
SECTIONS = ("data", "compile", "train", "log")

# What hone gives itself, or what ends without training.
_OURS = {
    "data": "[data] train",
    "val-data": "[data] val",
    "init": "the key init at the top",
    "log": "runs/NAME/log.jsonl",
    "save": "runs/NAME/weights.safetensors",
    "checkpoint-dir": "runs/NAME/checkpoints",
    "resume": "hone train --resume",
    "o": "runs/NAME/train",
    "report": "runs/NAME/report",
}
_NOT_RUNS = (
    "help", "help-json", "version", "info", "check", "bench-collectives", "smoke", "emit", "dry-run", "time-phases",
    "dump-schedule",
)

# What a key takes, by what stands for its value in the help: a pattern of text, its description, an example. Flags of
# whole numbers know suffixes besides, as 2epochs and 1.5B.
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf"
_TAKES = {
    "X": (_NUMBER, "a number", "1e-3"),
    "P": (_NUMBER, "a number", "0.9"),
    "N": (r"[-+]?\d.*", "a number", "100"),
    "K": (r"[-+]?\d.*", "a number", "4"),
    "SECONDS": (_NUMBER, "a number", "600"),
    "SIZE": (r"\d.*", "a size", '"1.5GiB"'),
}

Values = dict[str, Any]


class RunFile:
    """The keys of a run file, all of them known, by section; those at the top in the section ""."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.flags = program_flags()
        read = read_toml(text, path)
        self.sections: dict[str, Values] = {name: {} for name in ("", *SECTIONS)}
        for key, value in read.items():
            if key in SECTIONS and isinstance(value, dict):
                for name, inner in value.items():
                    self.put(key, name, inner)
            elif key in SECTIONS:
                raise HoneError(f"{path}: {key} is {json.dumps(value)}, expected a section [{key}]")
            else:
                self.put("", key, value)

    def put(self, section: str, key: str, value: Any) -> None:
        """Sets a key, which must be one of the section's."""
        self._check(section, key, value)
        self.sections[section][key] = value

    def change(self, text: str) -> None:
        """KEY=VALUE or SECTION.KEY=VALUE; VALUE as in the file, where strings need no quotes."""
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise HoneError(f"'{text}': expected KEY=VALUE")
        section, name = self.place(key)
        self.put(section, name, parse_value(value))

    def place(self, key: str) -> tuple[str, str]:
        """The section of a key of the command line, and its name there."""
        section, dot, name = key.partition(".")
        if dot:
            if section not in SECTIONS:
                raise HoneError(f"'{key}': no section {section}{suggestion(section, SECTIONS)}")
            return section, name
        if key in TOP:
            return "", key
        holders = [section for section in SECTIONS if key in self.sections[section]]
        if len(holders) == 1:
            return holders[0], key
        if len(holders) > 1:
            raise HoneError(f"'{key}': is in {' and '.join(holders)}, expected {holders[0]}.{key}=VALUE")
        if key in self.flags:
            return "train", key
        if key in EXPORT or key in honec_options():
            return "compile", key
        if key in DATA:
            return "data", key
        known = [*TOP, *self.flags, *EXPORT, *honec_options()]
        raise HoneError(f"'{key}': no such key{suggestion(key, known)}")

    def _check(self, section: str, key: str, value: Any) -> None:
        where = f"{self.path}: " + (f"{section}.{key}" if section else key)
        known = self._known(section)
        if not section and key not in known and isinstance(value, dict):
            near = suggestion(key, SECTIONS)
            raise HoneError(f"{self.path}: [{key}]: no such section{near or ', expected ' + ', '.join(SECTIONS)}")
        if key not in known:
            home = next((name for name in ("", "train", "compile", "data", "log") if key in self._known(name)), None)
            if home is None:
                hint = suggestion(key, [name for name in known if name not in (*_OURS, *_NOT_RUNS)])
            else:
                hint = f"; it belongs in [{home}]" if home else "; it belongs at the top"
            raise HoneError(f"{where}: no such key{hint}")
        if key in _OURS and section:
            raise HoneError(f"{where}: hone sets this flag, from {_OURS[key]}")
        if key in _NOT_RUNS and section:
            raise HoneError(f"{where}: is no setting of a run")
        kind = known[key]
        items = value if isinstance(value, list) else [value]
        is_plain = items and all(isinstance(item, (str, int, float)) for item in items)
        if kind is not None and kind.value is None:
            if not isinstance(value, bool):
                raise HoneError(f"{where}: is {json.dumps(value)}, expected true or false")
        elif key == "weights" and section == "compile":
            if not isinstance(value, bool):
                raise HoneError(f"{where}: is {json.dumps(value)}, expected true or false")
        elif not is_plain or any(isinstance(item, bool) for item in items):
            shown = json.dumps(value, default=str)
            raise HoneError(f"{where}: is {shown}, expected a string, a number or a list of them")
        elif kind is not None and kind.value in _TAKES:
            pattern, takes, example = _TAKES[kind.value]
            if wrong := [item for item in items if not re.fullmatch(pattern, str(item))]:
                raise HoneError(f"{where}: is {json.dumps(wrong[0])}, expected {takes}, as {key} = {example}")

    def _known(self, section: str) -> Mapping[str, Option | None]:
        """The keys of a section, with the option behind each, if there is one."""
        if section == "":
            return dict.fromkeys(TOP)
        if section == "compile":
            return honec_options() | dict.fromkeys(EXPORT)
        if section == "data":
            return self.flags | dict.fromkeys(DATA)
        if section == "log":
            short = {name.removeprefix("log-"): flag for name, flag in self.flags.items() if name.startswith("log-")}
            return self.flags | short
        return self.flags

    def get(self, section: str, key: str, default: Any = None) -> Any:
        return self.sections[section].get(key, default)

    def export_words(self, labels: bool) -> list[str]:
        given = self.sections["compile"]
        return option_words(given.get("batch"), given.get("weights"), given.get("frozen"), labels)

    def ranks(self) -> int:
        """Of its mesh: the product of its axes, which stand in [compile] mesh or recipe."""
        words = [self.get("compile", key, "") for key in ("mesh", "recipe")]
        text = ",".join(",".join(word) if isinstance(word, list) else word for word in words)
        return math.prod(int(size) for size in re.findall(r"\b[a-z]+=(\d+)", text))

    def put_curves_below(self, name: str) -> None:
        """TensorBoard's curves into a folder of this name, in that which the file names: a folder has one run."""
        for section in ("train", "log"):
            if curves := self.get(section, "tensorboard"):
                self.put(section, "tensorboard", os.path.join(curves, name))

    def generates(self) -> bool:
        """Whether its program has a function that generates."""
        functions = self.get("compile", "with", [])
        named = functions if isinstance(functions, list) else functions.split(",")
        return "generate" in named or self.has_flag("sample-every")

    def in_its_words(self, error: HoneError, *sections: str) -> HoneError:
        """An error of honec or of the program about an option, as one about the key of these sections that gave it."""
        match = re.match(r"--([\w-]+): ", str(error))
        for section in sections if match else ():
            for key in (match[1], match[1].removeprefix("log-")):
                if key in self.sections[section]:
                    return HoneError(f"{self.path}: {section}.{key}: {str(error)[match.end() :]}")
        return error

    def has_flag(self, name: str) -> bool:
        """Whether the file sets a flag of the program."""
        return any(name in self.sections[section] for section in ("data", "train", "log"))

    def honec_words(self, without: Collection[str] = ()) -> list[str]:
        """Its options of honec, without some."""
        options = honec_options()
        words = []
        for key, value in self.sections["compile"].items():
            if key not in EXPORT and key not in without:
                words += _words(options[key], ",".join(map(_text, value)) if isinstance(value, list) else value)
        if self.generates() and "with" not in self.sections["compile"]:
            words.append(WITH_GENERATE)
        return words

    def is_flag(self, key: str) -> bool:
        """Whether a key of values() is given to the program."""
        return key.partition(".")[0] in ("data", "train", "log")

    def flag_words(self) -> list[str]:
        """Of [data], [train] and [log], but not the files of [data]."""
        words = []
        for section in ("data", "train", "log"):
            for key, value in self.sections[section].items():
                if section == "data" and key in DATA:
                    continue
                long = f"log-{key}"
                flag = self.flags[long] if section == "log" and long in self.flags else self.flags[key]
                if flag.value is None and not value:
                    words.append(f"--{flag.name}=false")  # not that of a run that goes on
                    continue
                for each in value if isinstance(value, list) and flag.repeats else [value]:
                    words += _words(flag, ",".join(map(_text, each)) if isinstance(each, list) else each)
        return words

    def text(self) -> str:
        """As TOML, which reads as the same."""
        lines = [f"{key} = {_toml(value)}" for key, value in self.sections[""].items()]
        for section in SECTIONS:
            if self.sections[section]:
                lines += ["", f"[{section}]"]
                lines += [f"{key} = {_toml(value)}" for key, value in self.sections[section].items()]
        return "\n".join(lines) + "\n"

    def values(self) -> Values:
        """By "section.key"."""
        return {
            f"{section}.{key}" if section else key: value
            for section, values in self.sections.items()
            for key, value in values.items()
        }

    def copy(self) -> RunFile:
        other = copy.copy(self)
        other.sections = copy.deepcopy(self.sections)
        return other


def read_run_file(path: str | Path) -> RunFile:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        hint = ""
        if isinstance(error, FileNotFoundError):
            folder = Path(path).parent
            near = suggestion(str(path), map(str, folder.glob("*.toml")))
            hint = near or "; hone new gpt writes one, with a model"
        raise HoneError(f"{path}: {error.strerror}{hint}") from None
    except UnicodeDecodeError:
        raise HoneError(f"{path}: is not text, expected a run file (TOML)") from None
    file = RunFile(text, os.fspath(path))
    if "model" not in file.sections[""]:
        raise HoneError(f"{path}: has no key model, expected model = \"FILE.py:FUNCTION\"")
    return file


def parse_value(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, (str, int, float, list)) else text


def _words(option: Option, value: Any) -> list[str]:
    if option.value is None:
        return [f"--{option.name}"] if value else []
    return [f"--{option.name}={_text(value)}"]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)
