"""hone eval: the validation loss of the newest weights of a run, by its own program."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Sequence

from ..errors import HoneError
from .command import Parser, parse_positive, show
from .runs import open_run
from .tools import run as run_tool
from .train import data_words, launcher


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    run = open_run(arguments.run)
    file = run.file()
    if arguments.data:
        file.put("data", "val", arguments.data)
    if not file.get("data", "val"):
        raise HoneError(f"{run.folder}: its run file has no [data] val; --data FILE gives tokens to validate on")
    weights = Path(arguments.weights) if arguments.weights else run.weights()
    words = [word for word in data_words(file, Path(run.facts()["package"])) if word.startswith("--val")]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        steps = ["--steps=0", f"--val-batches={arguments.batches}", f"--init={weights}", f"--log={log}", "--quiet"]
        run_tool(arguments, [*launcher(file), run.program.resolve(), *words, *steps], quiet=True)
        rows = [json.loads(line) for line in log.read_text().splitlines()]
    loss = next((row["val_loss"] for row in rows if "val_loss" in row), None)
    if loss is None:
        raise HoneError(f"{run.program}: wrote no validation loss")
    data = {"run": str(run.folder), "weights": str(weights), "val_loss": loss, "perplexity": math.exp(min(loss, 700))}
    show(arguments, data, f"{weights}: validation loss {loss:.4f} nats per token, perplexity {data['perplexity']:.2f}")
    return 0


def _parser() -> Parser:
    parser = Parser("eval", "Computes the validation loss of the newest weights of a run, with its own program.")
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument("--data", metavar="FILE", help="tokens to validate on (default: those of the run file)")
    parser.add_argument("--weights", metavar="FILE", help="other weights than the newest of the run")
    parser.add_argument("--batches", metavar="N", type=parse_positive, default=1 << 40, help="at most (default: all)")
    parser.add_json()
    return parser
