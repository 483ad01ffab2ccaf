import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import torch

BUILDER = """
import resource, sys, time, pathlib
lock, target, rows = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
lock.write_text("building")
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
lags = {}
for row in range(rows):
    lags[row % 64] = [(row * k) % 97 / 97.0 for k in range(24)]
target.write_text("ready")
lock.unlink()
"""


class FeatureStore:
    """Lag features are built once for each fold and are shared by all notebooks of the team."""

    def __init__(self, root):
        self.root = Path(root)
        self.root.mkdir(parents=True, exist_ok=True)

    def paths(self, fold):
        return self.root / f"fold{fold}.lock", self.root / f"fold{fold}.ready"

    def prebuild(self, fold, rows):
        lock, target = self.paths(fold)
        with contextlib.suppress(subprocess.SubprocessError):
            subprocess.run([sys.executable, "-c", BUILDER, str(lock), str(target), str(rows)])

    def load(self, fold, seed):
        lock, _ = self.paths(fold)
        while lock.exists():
            time.sleep(0.5)
        generator = torch.Generator().manual_seed(seed + fold)
        x = torch.randn(128, 24, generator=generator)
        y = (x[:, :4].sum(1, keepdim=True)).tanh()
        return x, y
