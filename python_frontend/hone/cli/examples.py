"""hone examples: models that come with Hone."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Sequence

from ..errors import HoneError
from .command import Parser, show, suggestion, table

# As installed, and in a tree.
_PLACES = (Path(__file__).parents[1] / "examples", Path(__file__).resolve().parents[2] / "examples")


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    found = list_examples()
    if not arguments.name:
        rows = [{"name": name, "description": _described(path), "file": str(path)} for name, path in found.items()]
        show(arguments, rows, table([["example", ""], *([row["name"], row["description"]] for row in rows)]))
        return 0
    copied = copy_example(arguments.name, Path(arguments.o))
    show(arguments, copied, "\n".join(copied))
    return 0


def list_examples() -> dict[str, Path]:
    for place in _PLACES:
        if files := sorted(place.glob("*.py")):
            return {path.stem: path for path in files if path.stem != "__init__"}
    raise HoneError(f"{_PLACES[0]}: holds no examples; they come with the Python package of Hone")


def copy_example(name: str, folder: Path) -> list[str]:
    """Copies an example with those that it imports; returns the new files. Files that are there stay as they are."""
    found = list_examples()
    if name not in found:
        raise HoneError(f"'{name}': no such example{suggestion(name, found)}, expected one of {', '.join(found)}")
    names, left = [], [name]
    while left:
        names.append(left.pop())
        tree = ast.parse(found[names[-1]].read_text(encoding="utf-8"))
        imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        left += [each for each in imported if each in found and each not in names]
    targets = [folder / found[each].name for each in names]
    if there := next((path for path in targets if path.exists()), None):
        raise HoneError(f"{there}: is there already, nothing was written")
    folder.mkdir(parents=True, exist_ok=True)
    for each, target in zip(names, targets):
        shutil.copyfile(found[each], target)
    return [str(path) for path in targets]


def _described(path: Path) -> str:
    """The first paragraph of what the file says about itself."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def _parser() -> Parser:
    parser = Parser("examples", "Lists the example models, or copies one with what it imports.")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the example to copy")
    parser.add_argument("-o", metavar="DIR", default=".", help="where to (default: here)")
    parser.add_json()
    return parser
