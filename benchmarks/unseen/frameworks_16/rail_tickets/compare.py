"""Prints which blocks of a checkpoint's weights differ from another checkpoint, and a summary."""

import argparse
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

BLOCK = 16


def blocks(array):
    flat = array.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        yield start, flat[start : start + BLOCK]


def compare(name, new, old, tolerance):
    """Number of blocks of a tensor that have moved by more than the tolerance."""
    moved = 0
    for (start, a), (_, b) in zip(blocks(new), blocks(old)):
        change = float(np.abs(a - b).max())
        if change > tolerance:
            print(f"{name}[{start}:{start + a.size}] moved by {change:.3e}, norm {np.linalg.norm(a):.4f}")
            moved += 1
    return moved


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.0)
    args = parser.parse_args()
    weights = load_file(args.folder / "model.safetensors")
    broken = [name for name, value in weights.items() if not np.isfinite(value).all()]
    moved = 0
    if args.against is not None:
        before = load_file(args.against / "model.safetensors")
        for name, value in weights.items():
            moved += compare(name, value, before[name], args.tolerance)
    print(f"{len(weights)} tensors, {moved} blocks moved, {len(broken)} not finite")
    raise SystemExit(len(broken) > 0)


if __name__ == "__main__":
    main()
