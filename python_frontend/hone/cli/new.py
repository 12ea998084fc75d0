"""hone new: a model file and a run file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from ..errors import HoneError
from .command import Parser, Usage, parse_batch, parse_positive, show
from .examples import copy_example
from .token_data import FACTS, read_facts

_MODEL = '''"""{title}"""

import gpt2
import hone


def gpt(batch: int = {batch}, sequence: int = {sequence}) -> hone.Training:
    config = gpt2.Config(vocab={vocab}, context=sequence, layers={layers}, heads={heads}, width={width})
    return gpt2.training(config, batch, sequence, lr=1e-3)
'''

_RUN = """model = "model.py:gpt"

[data]
train = "{data}/train*.npy"
val = "{data}/val*.npy"

[compile]
batch = "{batch}x{sequence}"

[train]
steps = 1000
lr = 1e-3
warmup = 100
schedule = "cosine"
val-every = 100
checkpoint-every = 100
"""


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    if arguments.model != "gpt":
        raise HoneError(f"'{arguments.model}': no such model, expected gpt; hone examples lists models to copy")
    if arguments.width % arguments.heads:
        raise Usage(f"--width is {arguments.width}, expected a multiple of --heads ({arguments.heads})")
    folder = Path(arguments.o)
    for name in ("model.py", "run.toml"):
        if (folder / name).exists():
            raise HoneError(f"{folder / name}: is there already, nothing was written")
    has_tokens = (Path(arguments.data) / FACTS).is_file()
    vocab = arguments.vocab or (read_facts(arguments.data)["vocab"] if has_tokens else 256)
    files = copy_example("gpt2", folder)
    batch, sequence = arguments.batch
    values = {name: getattr(arguments, name) for name in ("layers", "heads", "width", "data")}
    values |= {"vocab": vocab, "batch": batch, "sequence": sequence}
    title = f"A GPT of {arguments.layers} layers; gpt2.py has the modules."
    for name, text in (("model.py", _MODEL), ("run.toml", _RUN)):
        (folder / name).write_text(text.format(title=title, **values), encoding="utf-8")
        files.append(str(folder / name))
    show(arguments, files, "\n".join(files))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "new",
        "Writes model.py, gpt2.py with its modules, and run.toml. Then: hone tokens TEXT --bytes -o data, and hone "
        "train run.toml.",
    )
    parser.add_argument("model", metavar="gpt", help="what to write; hone examples has other models")
    parser.add_argument("--layers", metavar="N", type=parse_positive, default=6, help="(default 6)")
    parser.add_argument("--heads", metavar="N", type=parse_positive, default=6, help="(default 6)")
    parser.add_argument("--width", metavar="N", type=parse_positive, default=384, help="(default 384)")
    parser.add_argument("--vocab", metavar="N", type=parse_positive, help="(default: of the tokens, or 256)")
    parser.add_argument("--batch", metavar="BxT", type=parse_batch, default=(8, 256), help="(default 8x256)")
    parser.add_argument("--data", metavar="DIR", default="data", help="of hone tokens (default data)")
    parser.add_argument("-o", metavar="DIR", default=".", help="where to (default: here)")
    parser.add_json()
    return parser
