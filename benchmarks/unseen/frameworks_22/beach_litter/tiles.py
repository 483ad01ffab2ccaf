"""Tiles of a drone's flight over the beach. Tiles that a flight saw for the first time get a thumbnail beside them."""

import queue
import threading
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset

SIDE = 16
KINDS = 4


class ThumbnailWriter:
    """Shrinks tiles and writes them in the background, so that loading does not wait for the disk."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.inbox = queue.Queue()
        self.thread = threading.Thread(target=self.write_all, name="thumbnails")
        self.thread.start()

    def put(self, number, tile):
        self.inbox.put((number, tile))

    def write_all(self):
        while True:
            number, tile = self.inbox.get()
            small = torch.nn.functional.avg_pool2d(tile[None], 4)[0]
            path = self.folder / f"{number}.pt"
            if not path.exists():
                torch.save(small, path)


class Flight(Dataset):
    def __init__(self, tiles, folder, seed, known=()):
        self.tiles = tiles
        self.folder = folder
        self.seed = seed
        self.known = set(known)
        self.writer = None
        g = torch.Generator().manual_seed(5)
        self.looks = torch.randn(KINDS, 3, SIDE, SIDE, generator=g)

    def __len__(self):
        return self.tiles

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        kind = int(torch.randint(KINDS, (), generator=g))
        tile = self.looks[kind] + torch.randn(3, SIDE, SIDE, generator=g)
        time.sleep(0.002)  # decoding
        if i not in self.known:
            if self.writer is None:  # one writer in each data worker
                self.writer = ThumbnailWriter(self.folder)
            self.writer.put(i, tile)
        return tile, kind
