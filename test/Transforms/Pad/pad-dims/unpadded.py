"""Gives the functions of a padded module the signatures they had without padding.

    unpadded.py FILE.mlir FUNCTION...      writes the module with these functions only, to standard output

Every argument with hone.parts that does not fill it is padded with zeros at the start, and every such result cut at the end.
One more result, of type tensor<f32>, is 1 if an element of padding in a result is not exactly zero. A function without
padding gets it too, so that `hone-run --compare` takes both. Random numbers of steps begin at 0: the argument `step` is one
more than what is given. Reads what hone-opt prints.
"""

from __future__ import annotations

import re
import sys

PART = re.compile(r'#hone\.part<"([^"]*)", offset = \[([^\]]*)\], shape = \[([^\]]*)\]>')


def closing(text: str, start: int) -> int:
    """Index of the bracket that closes the one at `start`."""
    depth = 0
    quoted = False
    for index in range(start, len(text)):
        letter = text[index]
        if letter == '"':
            quoted = not quoted
        if quoted or (letter == ">" and text[index - 1] == "-"):
            continue
        depth += (letter in "([{<") - (letter in ")]}>")
        if depth == 0:
            return index
    raise ValueError("no closing bracket")


def split(text: str) -> list[str]:
    """Parts between commas that stand in no bracket."""
    parts, depth, begin, quoted = [], 0, 0, False
    for index, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        if quoted:
            continue
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(text[begin:index].strip())
            begin = index + 1
    return parts + [text[begin:].strip()] if text.strip() else []


class Padded:
    """Type and parts of an argument or result: `tensor<..> {attributes}`."""

    def __init__(self, text: str) -> None:
        self.type = text[: closing(text, text.index("<")) + 1]
        *sizes, self.element = self.type[len("tensor<") : -1].split("x")
        self.wide = [int(size) for size in sizes]
        self.shape = list(self.wide)
        boxes = PART.findall(text)
        for dim in range(len(self.wide)):
            ends = [int(o.split(",")[dim]) + int(s.split(",")[dim]) for _, o, s in boxes]
            self.shape[dim] = max(ends, default=self.wide[dim])
        self.is_padded = self.shape != self.wide
        self.is_step = 'hone.fqn = "step"' in text

    def narrow(self) -> str:
        return "tensor<" + "x".join([*map(str, self.shape), self.element]) + ">"

    def pad(self, source: str, result: str) -> str:
        if self.is_step:
            one = f"  %one = hone.constant dense<1> : {self.type}\n"
            return f"{one}  {result} = hone.add {source}, %one : {self.type}"
        zeros = [0] * len(self.shape)
        high = [wide - size for wide, size in zip(self.wide, self.shape)]
        return f"  {result} = hone.pad {source} low {zeros} high {high} interior {zeros} : {self.narrow()} -> {self.type}"

    def cut(self, source: str, result: str) -> str:
        zeros, ones = [0] * len(self.shape), [1] * len(self.shape)
        return f"  {result} = hone.slice {source} {zeros} to {self.shape} by {ones} : {self.type} -> {self.narrow()}"


def rewrite(function: str) -> str:
    start = function.index("(")
    end = closing(function, start)
    arguments = [(name.strip(), Padded(rest.strip())) for name, rest in
                 (entry.split(":", 1) for entry in split(function[start + 1 : end]))]
    arrow = function.index("->", end)
    begin = function.index("(", arrow) if function[arrow + 2 :].lstrip().startswith("(") else -1
    if begin >= 0:
        stop = closing(function, begin)
        results = [Padded(entry) for entry in split(function[begin + 1 : stop])]
    else:
        stop = closing(function, function.index("<", arrow))
        results = [Padded(function[arrow + 2 : stop + 1].strip())]
    body = function[function.index("{\n", stop) + 2 :]
    cut = body.rindex("    return ")
    values = split(body[cut + len("    return ") : body.index(" : ", cut)])

    renamed = [(name, p) for name, p in arguments if p.is_padded or p.is_step]
    given = {name: name + "_narrow" for name, _ in renamed}
    lines = [f"func.func {function[:start].split('@')[0].replace('func.func', '').strip()}@"
             + function[:start].split("@")[1] + "("
             + ", ".join(f"{given.get(name, name)}: {p.narrow()}" for name, p in arguments)
             + ") -> (" + ", ".join([*(p.narrow() for p in results), "tensor<f32>"]) + ") {"]
    lines += [p.pad(given[name], name) for name, p in renamed]
    lines.append(body[:cut].rstrip("\n"))
    lines.append("  %dirty0 = hone.constant dense<0.0> : tensor<f32>")
    count, returned = 0, []
    for index, (value, padded) in enumerate(zip(values, results)):
        if not padded.is_padded:
            returned.append(value)
            continue
        wide = "tensor<" + "x".join(map(str, padded.wide))
        lines += [padded.cut(value, f"%cut{index}"),
                  f"  %ones{index} = hone.constant dense<1.0> : {padded.narrow()}", padded.pad(f"%ones{index}", f"%inside{index}"),
                  f"  %zeros{index} = hone.constant dense<0.0> : {padded.type}",
                  f"  %outside{index} = hone.cmp eq, %inside{index}, %zeros{index} : {padded.type} -> {wide}xi1>",
                  f"  %ne{index} = hone.cmp ne, {value}, %zeros{index} : {padded.type} -> {wide}xi1>",
                  f"  %bad{index} = hone.and %outside{index}, %ne{index} : {wide}xi1>",
                  f"  %number{index} = hone.cast %bad{index} : {wide}xi1> -> {wide}xf32>",
                  f"  %any{index} = hone.reduce max %number{index} dims {list(range(len(padded.wide)))} : {wide}xf32> -> tensor<f32>",
                  f"  %dirty{count + 1} = hone.max %dirty{count}, %any{index} : tensor<f32>"]
        count += 1
        returned.append(f"%cut{index}")
    returned.append(f"%dirty{count}")
    lines.append("  return " + ", ".join(returned) + " : " + ", ".join([*(p.narrow() for p in results), "tensor<f32>"]))
    return "\n".join(lines) + "\n}\n"


def main() -> None:
    text = open(sys.argv[1], encoding="utf-8").read()
    for name in sys.argv[2:]:
        begin = text.index(f"func.func @{name}(")
        end = text.index("\n  }\n", begin)
        print(rewrite(text[begin:end]))


main()
