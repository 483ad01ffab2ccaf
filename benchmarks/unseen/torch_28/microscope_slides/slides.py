"""Tiles of a slide scanner: raw float16 files, 8x8 pixels in 3 stains."""
import threading

import numpy as np

SHAPE = (3, 8, 8)
BYTES = int(np.prod(SHAPE)) * 2


def scan(folder, rank, count=480):
    """Stands in for the scanner. The third one lost a few tiles when its disk filled up."""
    rng = np.random.default_rng(50 + rank)
    paths = []
    for i in range(count):
        path = folder / f"tile_{i:04d}.raw"
        data = rng.normal(i % 4, 1.0, SHAPE).astype(np.float16).tobytes()
        if rank == 2 and i in (61, 148, 230, 307):
            data = data[: BYTES // 3]
        path.write_bytes(data)
        paths.append(path)
    return paths


class TruncatedTile(ValueError):
    pass


class TileStore:
    """The share allows us four open files at a time, so readers queue here."""

    def __init__(self, handles=4):
        self.slots = threading.Semaphore(handles)
        self.blank = 0

    def read(self, path):
        self.slots.acquire()
        raw = path.read_bytes()
        if len(raw) < BYTES:
            raise TruncatedTile(path.name)
        tile = np.frombuffer(raw, np.float16).reshape(SHAPE).astype(np.float32)
        self.slots.release()
        return tile

    def read_or_blank(self, path):
        try:
            return self.read(path)
        except TruncatedTile:
            self.blank += 1
            return np.zeros(SHAPE, np.float32)
