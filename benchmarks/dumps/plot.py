"""A line plot as SVG, without a library: few points, logarithmic sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 44, 52
_COLOURS = ("#1f6feb", "#d1571b", "#2a7f3f")


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    values: tuple[float, ...]


def plot(title: str, unit: str, sizes: Sequence[int], series: Sequence[Series]) -> str:
    """Sizes on a logarithmic axis, values from zero."""
    most = max(value for one in series for value in one.values) * 1.25
    low, high = math.log2(min(sizes)), math.log2(max(sizes))

    def across(size: float) -> float:
        return _LEFT + (math.log2(size) - low) / max(high - low, 1) * (_WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - value / most * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12" role="img">',
        f'<title>{title}</title><rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{title}</text>',
        f'<text x="{_LEFT}" y="36" fill="#555">{unit}</text>',
    ]
    step = _round(most / 4)
    for tick in range(int(most / step) + 1):
        y = up(tick * step)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick * step:g}</text>')
    for size in sizes:
        parts.append(f'<text x="{across(size):.1f}" y="{_HEIGHT - 32}" text-anchor="middle">{size:,}</text>')
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 10}" text-anchor="middle" fill="#555">ranks</text>')
    for one, colour in zip(series, _COLOURS, strict=False):
        points = [(across(size), up(value)) for size, value in zip(sizes, one.values, strict=True)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        x, y = points[0]
        parts.append(f'<text x="{x + 8:.1f}" y="{y - 8:.1f}" fill="{colour}">{one.name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _round(value: float) -> float:
    """1, 2 or 5 times a power of ten, at least as much."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value)
