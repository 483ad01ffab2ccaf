"""Draws the learning curves as SVG and writes a page with them."""
import html
import math
import time
from pathlib import Path

PAGE = "<html><head><title>{title}</title></head><body>{body}</body></html>"


def polyline(values, width=600, height=200):
    top = max(values) or 1.0
    points = " ".join(
        f"{width * i / max(1, len(values) - 1):.1f},{height - height * v / top:.1f}" for i, v in enumerate(values)
    )
    return f'<svg width="{width}" height="{height}"><polyline fill="none" stroke="black" points="{points}"/></svg>'


def smooth(values, sigma):
    out = []
    for i in range(len(values)):
        weights = [math.exp(-((i - j) ** 2) / (2 * sigma**2)) for j in range(len(values))]
        out.append(sum(w * v for w, v in zip(weights, values)) / sum(weights))
    return out


def render(curves: dict, path: Path, bandwidths: int = 40) -> None:
    parts = []
    for name, values in curves.items():
        parts.append(f"<h2>{html.escape(name)}</h2>")
        for k in range(1, bandwidths + 1):
            parts.append(polyline(smooth(values, 0.25 * k)))
            time.sleep(0.2)
    path.write_text(PAGE.format(title="Learning curves", body="\n".join(parts)))
