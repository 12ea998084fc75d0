#!/usr/bin/env python3
"""Draws the losses of a run: plot-log.py RUN.jsonl OUT.svg [LEVEL=NAME]...

RUN.jsonl is what a training binary writes with --log. Each LEVEL=NAME is a labelled horizontal line, such as
3.04="unigram entropy". Standard library only.
"""

from __future__ import annotations

import html
import json
import math
import sys
from dataclasses import dataclass
from typing import Sequence

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 30, 45

Point = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    name: str
    colour: str
    points: list[Point]


@dataclass(frozen=True)
class Axes:
    """Maps steps and losses to places in the picture."""

    steps: tuple[float, float]
    losses: tuple[float, float]

    def place(self, step: float, loss: float) -> Point:
        (s0, s1), (l0, l1) = self.steps, self.losses
        x = LEFT + (step - s0) / (s1 - s0) * (WIDTH - LEFT - RIGHT)
        y = TOP + (l1 - loss) / (l1 - l0) * (HEIGHT - TOP - BOTTOM)
        return x, y


def read_log(path: str) -> list[Curve]:
    """The training and validation losses; ValueError names the line that is not a JSON object."""
    train, validation = [], []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                entry = json.loads(line)
                step = entry.get("step")
            except (json.JSONDecodeError, AttributeError):
                raise ValueError(f"{path}:{number}: not a JSON object") from None
            for key, points in (("loss", train), ("val_loss", validation)):
                if step is not None and isinstance(entry.get(key), (int, float)) and math.isfinite(entry[key]):
                    points.append((step, entry[key]))
    return [Curve("training loss", "#4477aa", train), Curve("validation loss", "#cc3311", validation)]


def read_level(text: str) -> tuple[float, str]:
    """LEVEL=NAME."""
    level, _, name = text.partition("=")
    try:
        return float(level), name
    except ValueError:
        raise ValueError(f"'{text}': no level, expected a number and a name such as 3.2=entropy") from None


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Round values between the bounds."""
    rough = (high - low) / count
    magnitude = 10 ** math.floor(math.log10(rough))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= rough)
    first = math.ceil(low / step)
    return [i * step for i in range(first, int(high / step + 1e-9) + 1)]


def draw(curves: Sequence[Curve], levels: Sequence[tuple[float, str]]) -> str:
    points = [p for curve in curves for p in curve.points]
    losses = [loss for _, loss in points] + [level for level, _ in levels]
    margin = 0.05 * (max(losses) - min(losses)) or 1.0
    steps = [step for step, _ in points]
    axes = Axes(
        (min(steps), max(steps) if max(steps) > min(steps) else min(steps) + 1),
        (min(losses) - margin, max(losses) + margin),
    )
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for step in ticks(*axes.steps):
        x, _ = axes.place(step, axes.losses[0])
        out.append(
            f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>'
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{step:g}</text>'
        )
    for loss in ticks(*axes.losses):
        _, y = axes.place(axes.steps[0], loss)
        out.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#eee"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{loss:g}</text>'
        )
    for level, name in levels:
        _, y = axes.place(axes.steps[0], level)
        out.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#888" stroke-dasharray="5 4"/>'
            f'<text x="{WIDTH - RIGHT - 4}" y="{y - 5:.1f}" text-anchor="end" fill="#555">{html.escape(name)} {level:.2f}</text>'
        )
    drawn = [curve for curve in curves if curve.points]
    for row, curve in enumerate(drawn):
        path = " ".join("{:.1f},{:.1f}".format(*axes.place(*p)) for p in curve.points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{curve.colour}" stroke-width="1.5"/>')
        out.append(f'<text x="{LEFT + 10 + 130 * row}" y="{TOP - 10}" fill="{curve.colour}">{curve.name}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">step</text></svg>')
    return "\n".join(out) + "\n"


def main(argv: list[str]) -> int:
    if len(argv) < 3:
        print("error: wrong number of arguments, expected RUN.jsonl OUT.svg [LEVEL=NAME]...", file=sys.stderr)
        return 2
    try:
        levels = [read_level(text) for text in argv[3:]]
        curves = read_log(argv[1])
        if not any(curve.points for curve in curves):
            raise ValueError(f"{argv[1]}: holds no losses")
        with open(argv[2], "w", encoding="utf-8") as file:
            file.write(draw(curves, levels))
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
