"""Packs a checkpoint for the workshop's handheld: eight bits a weight. Run as a program; prints a summary as JSON.

Weights that would be lost by rounding are told on the standard error.
"""

import argparse
import json
import os
import sys

import numpy as np
from safetensors.numpy import load_file


def pack(name, weights, step):
    levels = np.clip(np.round(weights / step), -128, 127).astype(np.int8)
    for place in zip(*np.nonzero((levels == 0) & (weights != 0))):
        where = ",".join(str(i) for i in place)
        print(f"note: {name}[{where}] = {weights[place]:+.5f} is rounded to zero", file=sys.stderr)
    return levels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("--step", type=float, default=0.02)
    args = parser.parse_args()
    packed = {}
    for name, weights in load_file(os.path.join(args.checkpoint, "model.safetensors")).items():
        packed[name] = pack(name, weights, args.step)
    path = os.path.join(args.checkpoint, "handheld.npz")
    np.savez_compressed(path, **packed)
    json.dump({"path": path, "bytes": os.path.getsize(path), "tensors": len(packed)}, sys.stdout)


if __name__ == "__main__":
    main()
