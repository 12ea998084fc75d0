"""Loss curves of several runs as one SVG, without a library. Colours are those of honec --report."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Mapping, Sequence

Point = tuple[int, float]

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 860, 420, 64, 40, 210, 48
_COLOURS = ("#2f6fb3", "#c2410c", "#2e7d32", "#7b3fa0", "#00838f", "#ad1457", "#827717", "#455a64")
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:15px}.grid{stroke:#ddd}.curve{fill:none;"
    "stroke-width:1.6}.dashed{stroke-dasharray:5 3}.band{opacity:.2}"
    "@media(prefers-color-scheme:dark){text{fill:#ccc}.grid{stroke:#444}}"
)


@dataclass(frozen=True)
class Curve:
    """Of a run, or of runs with other seeds: their means, and what lies between the least and the largest."""

    name: str
    lines: Mapping[str, Sequence[Point]]  # by kind: loss, val_loss
    low: Mapping[str, Sequence[Point]]
    high: Mapping[str, Sequence[Point]]


def curve_of(name: str, runs: Sequence[Mapping[str, Sequence[Point]]]) -> Curve:
    """Of the steps that all runs have."""
    lines, low, high = {}, {}, {}
    for kind in runs[0]:
        losses = [dict(run[kind]) for run in runs]
        steps = [step for step in losses[0] if all(step in each for each in losses)]
        at = {step: [each[step] for each in losses] for step in steps}
        lines[kind] = [(step, sum(values) / len(values)) for step, values in at.items()]
        if len(runs) > 1:
            low[kind] = [(step, min(values)) for step, values in at.items()]
            high[kind] = [(step, max(values)) for step, values in at.items()]
    return Curve(f"{name} ({len(runs)} seeds)" if len(runs) > 1 else name, lines, low, high)


def draw(title: str, curves: Sequence[Curve]) -> str:
    """A colour for each curve; solid lines for its training loss, dashed ones with dots for validation."""
    kinds = [kind for curve in curves for kind in (curve.lines, curve.low, curve.high)]
    points = [point for kind in kinds for line in kind.values() for point in line]
    steps = (min(step for step, _ in points), max(step for step, _ in points))
    losses = (min(loss for _, loss in points), max(loss for _, loss in points))
    across, up = _ticks(*steps), _ticks(*losses)
    low, high = min(up[0], losses[0]), max(up[-1], losses[1])

    def x(step: float) -> float:
        return _LEFT + (step - steps[0]) / (steps[1] - steps[0] or 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(loss: float) -> float:
        return _HEIGHT - _BOTTOM - (loss - low) / (high - low or 1) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"><style>{_STYLE}</style>',
        f'<text class="title" x="{_LEFT}" y="22">{html.escape(title)}</text>',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">step</text>',
        f'<text transform="translate(16 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">loss (nats per token)</text>',
    ]
    for tick in up:
        parts.append(f'<path class="grid" d="M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in across:
        if steps[0] <= tick <= steps[1]:
            parts.append(f'<text x="{x(tick):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')

    def path(line: Sequence[Point]) -> str:
        return "L".join(f"{x(step):.1f} {y(loss):.1f}" for step, loss in line)

    for index, curve in enumerate(curves):
        colour = _COLOURS[index % len(_COLOURS)]
        for kind, line in curve.lines.items():
            dashed = " dashed" if kind == "val_loss" else ""
            if line and kind in curve.low:
                around = [*_thinned(curve.low[kind]), *reversed(_thinned(curve.high[kind]))]
                parts.append(f'<path class="band" fill="{colour}" d="M{path(around)}Z"/>')
            if line:
                parts.append(f'<path class="curve{dashed}" stroke="{colour}" d="M{path(_thinned(line))}"/>')
            if dashed:
                parts += [f'<circle cx="{x(s):.1f}" cy="{y(v):.1f}" r="2.5" fill="{colour}"/>' for s, v in line]
        row = _TOP + 12 + 18 * index
        parts.append(f'<path class="curve" stroke="{colour}" d="M{_WIDTH - _RIGHT + 12} {row - 4}h20"/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 38}" y="{row}">{html.escape(curve.name)}</text>')
    parts.append(f'<text x="{_WIDTH - _RIGHT + 12}" y="{_HEIGHT - _BOTTOM}">dashed: validation</text>')
    return "\n".join([*parts, "</svg>\n"])


def _ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers around a range."""
    span = high - low or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(span))
    unit = next(unit * factor for factor in (0.1, 0.2, 0.5, 1) if span / (unit * factor) <= 8 or factor == 1)
    return [round(i * unit, 12) for i in range(math.floor(low / unit), math.ceil(high / unit) + 1)]


def _thinned(line: Sequence[Point], most: int = 1000) -> Sequence[Point]:
    """No more points than there is room for: means of as many neighbours as it takes."""
    width = -(-len(line) // most)
    groups = [line[i : i + width] for i in range(0, len(line), width)] if line else []
    return [(group[-1][0], sum(loss for _, loss in group) / len(group)) for group in groups]
