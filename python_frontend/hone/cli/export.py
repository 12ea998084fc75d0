"""hone export: writes the package of a model."""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import sys
from typing import Callable, Sequence

from ..errors import HoneError
from .command import Parser, Usage, parse_batch, parse_count


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    if arguments.made_from:
        from .made_from import recorded

        with recorded(arguments.made_from, arguments.source):
            print(_export(arguments))
    else:
        print(_export(arguments))
    return 0


def add_options(parser: Parser) -> None:
    """What decides about a package, besides the source."""
    parser.add_argument("--batch", metavar="BxT", type=parse_batch, help="sequences and tokens of each, as 8x1024")
    parser.add_argument(
        "--weights",
        action=argparse.BooleanOptionalAction,
        help="whether the package holds the present weights (model.safetensors), from which runs then start; by "
        "default it does where the model's configuration names what from_pretrained read, or with --golden",
    )
    parser.add_argument(
        "--frozen",
        metavar="FORMAT",
        help="how weights that are not trained are stored: keep, bf16, int8 or nf4 (QLoRA); by default as the "
        "function's hone.Training says, which may give formats by name",
    )
    parser.add_argument(
        "--labels",
        action="store_true",
        help="of a Hugging Face folder: the targets come from a file (input 'labels', -100: ignored)",
    )


def option_words(batch: str | None, weights: bool | None, frozen: str | None, labels: bool) -> list[str]:
    """The options of add_options as a command line."""
    words = ["--batch", batch] if batch else []
    if weights is not None:
        words.append("--weights" if weights else "--no-weights")
    return words + (["--frozen", frozen] if frozen else []) + (["--labels"] if labels else [])


def is_function(source: str) -> bool:
    """Whether a source is FILE.py:FUNCTION."""
    path, separator, name = source.rpartition(":")
    return bool(separator and name and path.endswith(".py"))


def make_training(source: str, batch: tuple[int, int] | None, labels: bool = False):
    """The hone.Training of FILE.py:FUNCTION, or of a Hugging Face model."""
    try:
        from ..api import Training  # noqa: F401
    except ImportError as error:
        advice = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
        raise HoneError(f"export: needs PyTorch ({error}); {advice}") from None
    if not is_function(source) and ":" not in source:
        from ..pretrained import pretrained_training

        return pretrained_training(source, batch, labels)
    path, separator, name = source.rpartition(":")
    if not separator or not path or not name:
        raise _no_function(source)
    if labels:
        raise HoneError(f"--labels: is for Hugging Face folders; {name} of {path} says by roles= what its inputs are")
    return _call(path, name, batch)


def _parser() -> Parser:
    parser = Parser(
        "export",
        "Writes the package that honec compiles. FUNCTION is called without arguments, or with batch= and sequence= "
        "where --batch gives them, and returns a hone.Training: model, loss function, example batch, optimizer. Its "
        "roles say which inputs a token stream feeds (tokens; targets, one later; labels, the same ids as the tokens, "
        "for a loss that shifts them itself); without them they are inferred, and printed. docs/export.md lists what "
        "is taken from a model, and what is refused.",
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="FILE.py:FUNCTION, where the model is made; or a folder that save_pretrained wrote, or the name of a "
        "Hugging Face model that is on this disk",
    )
    add_options(parser)
    parser.add_argument(
        "--golden",
        metavar="N",
        type=parse_count,
        default=0,
        help="also write N training steps done by PyTorch (golden.safetensors), and the weights before them",
    )
    parser.add_argument("-o", metavar="PKG.hone", dest="out", help="the package; FUNCTION.hone by default")
    parser.add_argument("--made-from", metavar="FILE", help="also write which files the package was made from (JSON)")
    return parser


def _export(arguments: argparse.Namespace) -> str:
    source = arguments.source
    if not is_function(source) and not os.path.isdir(source) and (":" in source or source.endswith(".py")):
        raise _no_function(source)
    training = make_training(source, arguments.batch, arguments.labels)
    from ..api import export

    name = source.rpartition(":")[2] if is_function(source) else os.path.basename(source.rstrip("/"))
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


def _call(path: str, name: str, batch: tuple[int, int] | None):
    """Calls the user's function for its Training."""
    from ..api import Training

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
        makers = _makers(path)
        expected = f"one of {', '.join(makers)}" if makers else "one that returns a hone.Training"
        raise HoneError(f"{path}: has no function '{name}', expected {expected}")
    return function


def _no_function(source: str) -> Usage:
    path = source.rpartition(":")[0] or source
    makers = ", ".join(f"{path}:{name}" for name in _makers(path)) if os.path.isfile(path) else ""
    return Usage(f"source is '{source}', expected {makers or 'FILE.py:FUNCTION'}; see hone export --help")


def _makers(path: str) -> list[str]:
    """The functions of a file that can be called without arguments, as one that makes a Training is."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return [node.name for node in functions if _takes_nothing(node.args)]


def _takes_nothing(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    return positional == len(arguments.defaults) and None not in arguments.kw_defaults


def _failure(error: Exception) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return f"{type(error).__name__}: {text}"
