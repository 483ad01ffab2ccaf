"""Tiles in memory, decoded ahead of their use by a thread."""
import collections
import logging
import threading
import zlib

import torch

log = logging.getLogger("pantry")


class Slide:
    """Compressed tiles of one slide."""

    def __init__(self, seed, count, side):
        g = torch.Generator().manual_seed(seed)
        self.side = side
        self.labels = torch.randint(0, 3, (count,), generator=g)
        self.blobs = []
        for label in self.labels.tolist():
            pixels = (torch.randn(3, side, side, generator=g) * 20 + 60 * (label + 1)).clamp(0, 255).to(torch.uint8)
            self.blobs.append(zlib.compress(pixels.numpy().tobytes()))

    def decode(self, i):
        raw = zlib.decompress(self.blobs[i])
        pixels = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(3, self.side, self.side)
        return pixels.float() / 255, self.labels[i]


class Pantry:
    def __init__(self, slide, capacity=96):
        self.slide = slide
        self.capacity = capacity
        self.guard = threading.Lock()
        self.tiles = collections.OrderedDict()
        self.wanted = collections.deque()
        self.wake = threading.Event()
        threading.Thread(target=self.stock, daemon=True).start()

    def announce(self, indices):
        self.wanted.extend(indices)
        self.wake.set()

    def fetch(self, i):
        self.guard.acquire()
        if i not in self.tiles:
            self.tiles[i] = self.slide.decode(i)
            while len(self.tiles) > self.capacity:
                self.tiles.popitem(last=False)
        tile = self.tiles[i]
        self.guard.release()
        return tile

    def stock(self):
        while True:
            self.wake.wait()
            while self.wanted:
                index = self.wanted.popleft()
                try:
                    self.fetch(index)
                except zlib.error as error:
                    log.warning("tile %d: %s", index, error)
            self.wake.clear()
