"""python -m hone export FILE.py:FUNCTION [--batch BxT] [--golden N] [--[no-]weights] [--frozen F] [-o PKG.hone]"""

from __future__ import annotations

import argparse
import difflib
import inspect
import os
import re
import sys
from typing import Callable, Sequence

from .errors import HoneError


_OPTIONS: list[str] = []  # of export


class _Usage(Exception):
    """A wrong command line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        unknown = message.removeprefix("unrecognized arguments: ").split("=")[0].split()[:1]
        if message.startswith("unrecognized") and not unknown:
            message += "''"
        elif message.startswith("unrecognized") and (nearest := difflib.get_close_matches(unknown[0], _OPTIONS, n=1)):
            message += f" (did you mean {nearest[0]}?)"
        raise _Usage(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0, 1 for an error in what was given, 2 for a wrong command line."""
    try:
        arguments = _parser().parse_args(argv)
        print(_export(arguments))
        return 0
    except _Usage as error:
        print(f"error: {error}; see python -m hone export --help", file=sys.stderr)
        return 2
    except HoneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m hone", description="Exports PyTorch models as packages for honec.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    export = commands.add_parser(
        "export",
        help="write a package",
        description=(
            "FUNCTION is called without arguments, or with batch= and sequence= where --batch gives them, and returns "
            "a hone.Training: model, loss function, example batch, optimizer. Its roles say which inputs a token "
            "stream feeds (tokens; targets, one later; labels, the same ids as the tokens); without them they are inferred, "
            "and printed. docs/export.md lists what is taken from a model, and what is refused."
        ),
    )
    export.add_argument("source", metavar="FILE.py:FUNCTION", help="where the model is made")
    export.add_argument("--batch", metavar="BxT", type=_batch, help="sequences and tokens of each, for instance 8x1024")
    export.add_argument(
        "--golden",
        metavar="N",
        type=_count,
        default=0,
        help="also write N training steps done by PyTorch (golden.safetensors), and the weights before them",
    )
    export.add_argument(
        "--weights",
        action=argparse.BooleanOptionalAction,
        help="whether the package holds the present weights (model.safetensors), from which runs then start; by "
        "default it does where the model's configuration names what from_pretrained read, or with --golden",
    )
    export.add_argument(
        "--frozen",
        metavar="FORMAT",
        help="how weights that are not trained are stored: keep, bf16, int8 or nf4 (QLoRA); by default as the "
        "function's hone.Training says, which may give formats by name",
    )
    export.add_argument("-o", metavar="PKG.hone", dest="out", help="the package; FUNCTION.hone by default")
    _OPTIONS[:] = [name for action in export._actions for name in action.option_strings]
    return parser


def _batch(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"is '{text}', expected BxT such as 8x1024")
    return int(match[1]), int(match[2])


def _count(text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise argparse.ArgumentTypeError(f"is '{text}', expected a number of steps")
    return int(text)


def _export(arguments: argparse.Namespace) -> str:
    path, separator, name = arguments.source.rpartition(":")
    if not separator or not path or not name:
        raise _Usage(f"source is '{arguments.source}', expected FILE.py:FUNCTION")
    training = _training(path, name, arguments.batch)
    from .api import export

    return export(
        training.model,
        training.loss_fn,
        training.example_batch,
        training.optimizer,
        out=arguments.out or f"{name}.hone",
        init=training.init,
        golden=arguments.golden,
        name=training.name or name,
        clip=training.clip,
        roles=training.roles,
        weights=arguments.weights,
        frozen=arguments.frozen or training.frozen,
        expert_bias=training.expert_bias,
    )


def _training(path: str, name: str, batch: tuple[int, int] | None):
    """Calls the user's function for its Training."""
    try:
        from .api import Training
    except ImportError as error:
        raise HoneError(f"export: needs PyTorch: {error}") from None
    function = _function(path, name)
    keywords = dict(zip(("batch", "sequence"), batch)) if batch else {}
    missing = sorted(set(keywords) - set(inspect.signature(function).parameters))
    if missing:
        raise HoneError(f"{path}:{name}: takes no argument '{missing[0]}', which --batch needs")
    try:
        training = function(**keywords)
    except HoneError:
        raise
    except Exception as error:  # the user's own code failed
        raise HoneError(f"{path}:{name}: {_failure(error)}") from error
    if not isinstance(training, Training):
        raise HoneError(f"{path}:{name}: returned a {type(training).__name__}, expected a hone.Training")
    return training


def _function(path: str, name: str) -> Callable:
    from importlib import util

    if not os.path.isfile(path):
        raise HoneError(f"{path}: no such file")
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:  # the file may import its neighbours
        sys.path.insert(0, folder)
    specification = util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], os.path.abspath(path))
    if specification is None:
        raise HoneError(f"{path}: is not a Python file")
    module = util.module_from_spec(specification)
    sys.modules[specification.name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise HoneError(f"{path}: {_failure(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise HoneError(f"{path}: has no function '{name}'")
    return function


def _failure(error: Exception) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    sys.exit(main())
