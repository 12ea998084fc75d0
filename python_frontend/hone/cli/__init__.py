"""The command `hone`: `hone NAME ...` is main(arguments) of the module hone.cli.NAME.

Exit codes: 0, 1 for an error in what was given, 2 for a wrong command line; `hone train` ends as the training program
does. A module of a command is imported when it is called, and none imports torch before it needs it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Sequence

from ..errors import HoneError
from .command import Usage, suggestion

COMMANDS = {
    "new": "write a model file and a run file to start from",
    "examples": "list the example models, or copy one",
    "tokens": "make token files of text",
    "export": "write the package of a PyTorch model",
    "compile": "compile a model into an executable that trains it",
    "train": "train what a run file says, or resume a run",
    "sweep": "train with several values of some keys",
    "eval": "compute the validation loss of a run",
    "compare": "compare runs: a table and their loss curves",
    "generate": "continue a text with a trained model",
    "report": "show what the compiler's report of a run says, and profile it",
    "watch": "send the log of a run to W&B or MLflow",
    "seal": "accept a package's graph that was edited",
    "doctor": "check what this machine has",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except Usage as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except HoneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # nobody reads any more (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _run(argv: list[str]) -> int:
    verbose = []  # a flag of each command, which may stand before its name too
    while argv and argv[0] in ("-v", "--verbose"):
        verbose.append(argv.pop(0))
    if not argv:
        raise Usage("no command, expected one of " + ", ".join(COMMANDS) + "; see hone --help")
    name, *rest = argv
    if name in ("-h", "--help"):
        lines = [f"  {command:<10} {text}" for command, text in COMMANDS.items()]
        print("usage: hone COMMAND ...\n\nTrains transformers without Python, by compiling the training step.\n")
        print("\n".join(lines) + "\n\nhone COMMAND --help tells about each.")
        print("-v, before COMMAND or behind it, prints the commands that are run, on stderr.")
        return 0
    if name == "--version":
        from ..version import VERSION

        print(f"hone {VERSION}")
        return 0
    if name not in COMMANDS:
        raise Usage(f"'{name}' is no command{suggestion(name, COMMANDS)}; see hone --help")
    return import_module(f".{name}", __name__).main([*verbose, *rest])
