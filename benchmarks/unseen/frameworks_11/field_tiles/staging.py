import subprocess
import sys
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset

COPY = """
import pathlib, sys
folder, tiles = pathlib.Path(sys.argv[1]), int(sys.argv[2])
for number in range(tiles):
    cloudy = number % 450 == 405
    if cloudy:
        continue
    draft = folder / f"{number:05d}.part"
    draft.write_bytes(bytes((number * 37 + i * i) % 251 for i in range(6 * 16 * 16)))
    draft.rename(folder / f"{number:05d}.tile")
"""


class Stager:
    """Copies the tiles from the archive into the folder of the job, in their order, while the training reads them."""

    def __init__(self, folder: Path, tiles: int):
        self.command = [sys.executable, "-c", COPY, str(folder), str(tiles)]

    def start(self):
        self.process = subprocess.Popen(self.command)


class StagedTiles(Dataset):
    def __init__(self, folder: Path, tiles: int):
        self.folder = folder
        self.tiles = tiles

    def __len__(self):
        return self.tiles

    def __getitem__(self, i):
        path = self.folder / f"{i:05d}.tile"
        while not path.exists():
            time.sleep(0.2)
        raw = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
        return raw.reshape(6, 16, 16).float() / 255, i % 8
