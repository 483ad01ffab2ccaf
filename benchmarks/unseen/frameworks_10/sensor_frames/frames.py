import os
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

SIDE = 24


def record_inspection(folder: Path, count: int, live: int) -> None:
    """Writes the frames of an inspection as the line's recorder does: one of them is still being captured, and the
    recorder offers it through a named pipe."""
    rng = np.random.default_rng(17)
    for number in range(count):
        path = folder / f"{number:05d}.frame"
        if number == live:
            os.mkfifo(path)
            continue
        dent = number % 2
        frame = rng.normal(0, 0.4, (SIDE, SIDE)).astype(np.float32)
        if dent:
            frame[8:14, 8:14] += 1.0
        path.write_bytes(frame.tobytes())


class Frames(Dataset):
    def __init__(self, folder: Path):
        self.paths = sorted(folder.glob("*.frame"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        path = self.paths[i]
        time.sleep(0.0003)
        raw = self._raw(path)
        frame = torch.from_numpy(np.frombuffer(raw, dtype=np.float32).copy()).view(1, SIDE, SIDE)
        return frame, int(path.stem) % 2

    @staticmethod
    def _raw(path: Path) -> bytes:
        with path.open("rb") as file:
            return file.read()
