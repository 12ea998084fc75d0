"""A function as a pass made it, behind the arguments and results it had before.

A pass may pad or pack parameters (hone.parts), keep them in another type, or add state that follows from others
(working copies). The interpreter compares functions of one type: so the new function is wrapped in lines that build its
arguments from the old ones, by kind and name, and take its results apart. What lies outside all parts must be zero: the
square of it is added to the result, where it would be seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TYPED = re.compile(r"(?:%arg\d+: )?(tensor<[^>]*>)(?: \{((?:[^{}]|\{[^{}]*\})*)\})?")
PART = re.compile(r'#hone\.part<"([^"]*)", offset = \[([^\]]*)\], shape = \[([^\]]*)\]>')


@dataclass(frozen=True)
class Slot:
    """An argument or a result: `parts` are name, offset and shape."""

    type: str
    kind: str
    name: str
    parts: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]

    @property
    def element(self) -> str:
        return re.sub(r".*?((?:b?f|i)\d+)>$", r"\1", self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(size) for size in re.findall(r"(\d+)x", self.type))


def tensor(shape: tuple[int, ...], element: str) -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(",") if word.strip())


def slots(text: str) -> list[Slot]:
    found = []
    # A part's angle brackets would end a type.
    for match in TYPED.finditer(text):
        attributes = match[2] or ""
        kind = re.search(r'hone\.kind = "(\w+)"', attributes)
        name = re.search(r'hone\.fqn = "([^"]*)"', attributes)
        parts = tuple((part[1], numbers(part[2]), numbers(part[3])) for part in PART.finditer(attributes))
        found.append(Slot(match[1], kind[1] if kind else "", name[1] if name else "", parts))
    return found


class Adapter:
    """Lines before and after the body of the new function."""

    def __init__(self, before: str, after: str) -> None:
        self.old_head, self.new_head = before.splitlines()[0], after.splitlines()[0]
        self.body = after.splitlines()[1:-1]
        self.lines: list[str] = []
        self.given = {(slot.kind, slot.name): (f"%arg{index}", slot)
                      for index, slot in enumerate(slots(self.old_head.split(") -> ")[0]))}

    def emit(self, text: str) -> str:
        name = f"%w{len(self.lines)}"
        self.lines.append(f"    {name} = hone.{text}")
        return name

    def cast(self, value: str, have: str, want: str) -> str:
        return value if have == want else self.emit(f"cast {value} : {have} -> {want}")

    def argument(self, slot: Slot) -> str:
        """The value of an argument of the new function."""
        if known := self.given.get((slot.kind, slot.name)):
            value, old = known
            if old.shape == slot.shape:
                return self.cast(value, old.type, slot.type)
        if slot.kind == "working_copy":
            value, old = self.given["param", slot.name]
            return self.cast(value, old.type, slot.type)
        if slot.kind == "rng":
            return self.emit("constant dense<[1, 1, 0]> : tensor<3xi64>")
        whole = ""
        for name, offset, shape in slot.parts:
            value, old = self.given[slot.kind, name]
            value = self.cast(value, old.type, tensor(old.shape, slot.element))
            high = [size - low - own for size, low, own in zip(slot.shape, offset, shape)]
            placed = self.emit(f"pad {value} low {list(offset)} high {high} interior {[0] * len(high)} : "
                               f"{tensor(old.shape, slot.element)} -> {slot.type}")
            whole = self.emit(f"add {whole}, {placed} : {slot.type}") if whole else placed
        if not whole:
            raise KeyError(f"argument {slot.kind} '{slot.name}' follows from none of the old ones")
        return whole

    def box(self, value: str, slot: Slot, offset: tuple[int, ...], shape: tuple[int, ...]) -> str:
        limits = [low + size for low, size in zip(offset, shape)]
        return self.emit(f"slice {value} {list(offset)} to {limits} by {[1] * len(limits)} : "
                         f"{slot.type} -> {tensor(shape, slot.element)}")

    def outside(self, value: str, slot: Slot) -> str:
        """The sum of squares outside all parts."""
        rest = value
        for _, offset, shape in slot.parts:
            part = self.box(value, slot, offset, shape)
            high = [size - low - own for size, low, own in zip(slot.shape, offset, shape)]
            placed = self.emit(f"pad {part} low {list(offset)} high {high} interior {[0] * len(high)} : "
                               f"{tensor(shape, slot.element)} -> {slot.type}")
            rest = self.emit(f"sub {rest}, {placed} : {slot.type}")
        square = self.emit(f"mul {rest}, {rest} : {slot.type}")
        scalar = tensor((), slot.element)
        return self.emit(f"reduce sum {square} dims {list(range(len(slot.shape)))} : {slot.type} -> {scalar}")

    def result(self, slot: Slot, new: list[tuple[str, Slot]]) -> str:
        """The value of a result of the old function."""
        for value, made in new:
            if (made.kind, made.name) == (slot.kind, slot.name) and made.shape == slot.shape:
                return self.cast(value, made.type, slot.type)
        for value, made in new:
            for name, offset, shape in made.parts:
                if made.kind == slot.kind and name == slot.name:
                    part = self.box(value, made, offset, shape)
                    wide = tensor(shape, made.element)
                    rest = self.outside(value, made)
                    if shape:
                        rest = self.emit(f"broadcast {rest} dims [] : {tensor((), made.element)} -> {wide}")
                    return self.cast(self.emit(f"add {part}, {rest} : {wide}"), wide, slot.type)
        raise KeyError(f"result {slot.kind} '{slot.name}' is gone")

    def run(self) -> str:
        arguments, results = self.new_head.split(") -> ", 1)
        names = {f"%arg{index}": self.argument(slot) for index, slot in enumerate(slots(arguments))}

        def rename(line: str) -> str:
            return re.sub(r"%arg\d+\b", lambda match: names[match[0]], line)

        self.lines += [rename(line) for line in self.body[:-1]]
        returned = re.findall(r"%[\w.$#-]+", rename(self.body[-1]).split(" : ")[0])
        new = list(zip(returned, slots(results)))
        old = slots(self.old_head.split(") -> ", 1)[1])
        values = [self.result(slot, new) for slot in old]
        types = ", ".join(slot.type for slot in old)
        return "\n".join([self.old_head, *self.lines, f"    return {', '.join(values)} : {types}", "  }"]) + "\n"


def adapt(before: str, after: str) -> str:
    """`after` with the arguments and results of `before`: functions of printed modules."""
    if before.splitlines()[0] == after.splitlines()[0]:
        return after
    return Adapter(before, after).run()
