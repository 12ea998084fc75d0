"""hone generate: continues a text with the weights of a run."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator, Sequence, TextIO

from ..errors import HoneError
from .command import Parser, parse_count, parse_positive, show, show_command
from .compile import find_program
from .export import make_training
from .run_file import OF_RANKS, WITH_GENERATE
from .runs import Run, open_run
from .token_data import arguments_of, read_facts, token_input
from .tokenizer import Tokenizer, read_tokenizer, tokenizer_of


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    if arguments.top_p is not None and not 0 < arguments.top_p <= 1:
        raise HoneError(f"--top-p is {arguments.top_p:g}, expected a share above 0 and up to 1")
    if arguments.temperature < 0:
        raise HoneError(f"--temperature is {arguments.temperature:g}, expected a number >= 0")
    run = open_run(arguments.run)
    tokenizer = _tokenizer(arguments, run)
    prompt = list(tokenizer.encode(arguments.prompt).ids) or [tokenizer.end]
    new = []
    for token in next_tokens(run, prompt, arguments):
        if token == tokenizer.end:
            break
        new.append(token)
        if len(new) == arguments.n:
            break
    text = arguments.prompt + tokenizer.decode(new)
    show(arguments, {"prompt": arguments.prompt, "text": text, "tokens": len(new)}, text)
    return 0


def next_tokens(run: Run, prompt: Sequence[int], arguments: argparse.Namespace) -> Iterator[int]:
    """The ids that follow, as the model of the run draws them: arguments.n of them, or without end.

    A program computes them, unless its graph cannot be divided into tokens, or has too few positions.
    """
    try:
        program = _find_program(run, len(prompt) + arguments.n, arguments)
    except HoneError as reason:
        print(f"generating in PyTorch: {reason}", file=sys.stderr, flush=True)
        return _tokens_of_torch(run, prompt, arguments)
    return _tokens_of_program(program, run, prompt, arguments)


def _find_program(run: Run, tokens: int, arguments: argparse.Namespace) -> Path:
    """A program with a function that generates: that of the run, or one of its package. The error says why not."""
    file, package = run.file(), Path(run.facts()["package"])
    positions = (token_input(package).get("shape") or [0])[-1]
    if tokens > positions:
        raise HoneError(f"prompt and answer have {tokens} tokens, the program {positions} positions")
    if file.generates():
        return run.program
    return find_program(arguments, package, [*file.honec_words(without=OF_RANKS), WITH_GENERATE]).path


def _tokens_of_program(
    program: Path, run: Run, prompt: Sequence[int], arguments: argparse.Namespace
) -> Iterator[int]:
    """Its standard output: the prompt's ids and those that follow, with commas between them, each as it is drawn."""
    command = [str(program.resolve()), f"--init={run.weights()}", "--quiet", f"--prompt-ids={','.join(map(str, prompt))}"]
    command += [f"--tokens-out={arguments.n}", f"--temperature={arguments.temperature!r}", f"--seed={arguments.seed}"]
    command += [f"--top-k={arguments.top_k}"] if arguments.top_k else []
    command += [f"--top-p={arguments.top_p!r}"] if arguments.top_p is not None else []
    show_command(arguments, command)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for index, token in enumerate(_read_ids(process.stdout)):
                if index >= len(prompt):
                    yield token
        except GeneratorExit:  # the text has ended
            process.kill()
            raise
        said = process.stderr.read().strip()
    if process.returncode:
        raise HoneError(said.removeprefix("error: ") or f"{program}: ended with exit code {process.returncode}")


def _read_ids(stream: TextIO) -> Iterator[int]:
    """The numbers before each comma and before the end."""
    digits = ""
    while character := stream.read(1):
        if character.isdigit():
            digits += character
        elif digits:
            yield int(digits)
            digits = ""
    if digits:
        yield int(digits)


def _tokens_of_torch(run: Run, prompt: Sequence[int], arguments: argparse.Namespace) -> Iterator[int]:
    """PyTorch computes them, without end: the model of the run file is made again, and the weights of the run are
    loaded into it. A model that sees at most T tokens is given the last T."""
    file = run.file()
    package = Path(run.facts()["package"])
    source = file.get("", "model")
    if (Path(source) / "manifest.json").is_file():
        raise HoneError(f"{source}: is a package; generating needs its PyTorch model, as model = \"FILE.py:FUNCTION\"")
    import torch

    from ..weights import load

    batch = file.get("compile", "batch")
    size = tuple(map(int, batch.split("x"))) if batch else None
    training = make_training(source, size)
    model, context = training.model, size[1] if size else _context(package, training)
    _load(model, run, load)
    model.eval()
    generator = torch.Generator().manual_seed(arguments.seed)
    ids = torch.tensor([list(prompt)])
    if ids.max() >= (token_input(package).get("vocab") or ids.max() + 1):
        raise HoneError(f"--prompt: has id {ids.max()}, expected ids of the model")
    with torch.inference_mode():
        while True:
            logits = _logits(model, ids[:, -context:], source)[0, -1].double()
            token = _draw(logits, arguments, generator)
            ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
            yield token


def _parser() -> Parser:
    parser = Parser(
        "generate",
        "Continues a text with the newest weights of a run, until the end of a text. The program of the run does it, "
        "or one that is compiled for it (honec --with=generate). Where a model has no such program, and for texts "
        "longer than its positions, PyTorch runs the model, slowly: a line says so.",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument("--prompt", metavar="TEXT", default="", help="what to continue (default: the start of a text)")
    parser.add_argument("-n", metavar="N", type=parse_positive, default=100, help="tokens at most (default 100)")
    parser.add_argument("--top-k", metavar="K", type=parse_positive, help="draw among the K likeliest tokens")
    parser.add_argument("--top-p", metavar="P", type=float, help="draw among the likeliest that have P together")
    parser.add_argument("--temperature", metavar="X", type=float, default=1.0, help="0: the likeliest (default 1)")
    parser.add_argument("--seed", metavar="N", type=parse_count, default=0, help="of the draws (default 0)")
    parser.add_argument("--tokenizer", metavar="FILE", help="where the run's data has no tokens.json")
    parser.add_json()
    return parser


def _tokenizer(arguments: argparse.Namespace, run: Run) -> Tokenizer:
    if arguments.tokenizer:
        return read_tokenizer(arguments.tokenizer)
    folder = run.facts().get("tokens")
    if not folder:
        raise HoneError(f"{run.folder}: its data has no tokens.json; --tokenizer FILE names the tokenizer")
    return tokenizer_of(Path(folder), read_facts(folder))


def _context(package: Path, training) -> int:
    return (token_input(package).get("shape") or training.example_batch[0].shape)[-1]


def _load(model, run: Run, load: Callable) -> None:
    path = run.weights()
    if path.parent == run.folder:
        load(model, str(path))
        return
    # A checkpoint also has the optimizer's state.
    from safetensors.torch import load_file, save_file

    names = {argument["fqn"] for argument in arguments_of(Path(run.facts()["package"]), "param", "buffer")}
    tensors = {name: tensor for name, tensor in load_file(path).items() if name in names}
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        save_file(tensors, file.name)
        load(model, file.name)


def _logits(model, ids, source: str):
    """What the module gives for tokens: logits, or something that has them."""
    import torch

    try:
        result = model(ids)
    except Exception as error:  # the user's module
        text = next(iter(str(error).splitlines()), "")
        raise HoneError(f"{source}: the model called with tokens alone: {type(error).__name__}: {text}") from error
    result = getattr(result, "logits", result)
    result = result[0] if isinstance(result, (tuple, list)) else result
    if not isinstance(result, torch.Tensor) or result.dim() != 3:
        raise HoneError(f"{source}: the model called with tokens returns no logits of shape [batch, tokens, vocab]")
    return result


def _draw(logits, arguments: argparse.Namespace, generator) -> int:
    import torch

    if arguments.temperature == 0:
        return int(logits.argmax())
    logits = logits / arguments.temperature
    if arguments.top_k and arguments.top_k < len(logits):
        logits[logits < logits.topk(arguments.top_k).values[-1]] = -torch.inf
    if arguments.top_p is not None:
        ordered, order = logits.sort(descending=True)
        before = ordered.softmax(0).cumsum(0) - ordered.softmax(0)
        logits[order[before >= arguments.top_p]] = -torch.inf  # the likeliest stays
    return int(torch.multinomial(logits.softmax(0), 1, generator=generator))
