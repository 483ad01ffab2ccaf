import queue
import threading
import time

import torch
from torch.utils.data import IterableDataset, get_worker_info


class ClipFile:
    """A packed file of short clips, addressed by number."""

    def __init__(self, number, clips=12):
        self.number, self.clips = number, clips

    def header(self, k):
        fps = 0 if (self.number, k) == (9, 4) else 25
        return {"fps": fps, "frames": 50}

    def decode(self, k):
        h = self.header(k)
        stride = h["frames"] // (h["fps"] * 2)
        g = torch.Generator().manual_seed(self.number * 100 + k)
        time.sleep(0.01)
        return torch.randn(3, 8, generator=g) * stride, (self.number + k) % 4


class ReadAhead:
    """Decodes in a thread so that the worker can augment meanwhile."""

    END = object()

    def __init__(self, files, depth=8):
        self.files = files
        self.queue = queue.Queue(depth)
        self.thread = threading.Thread(target=self._fill, daemon=True)
        self.thread.start()

    def _fill(self):
        for f in self.files:
            for k in range(f.clips):
                self.queue.put(f.decode(k))
        self.queue.put(self.END)

    def __iter__(self):
        while True:
            item = self.queue.get()
            if item is self.END:
                return
            yield item


class ClipStream(IterableDataset):
    def __init__(self, rank, world, num_files=20):
        self.numbers = range(rank, num_files, world)

    def __iter__(self):
        info = get_worker_info()
        mine = list(self.numbers)[info.id::info.num_workers]
        for clip, label in ReadAhead([ClipFile(n) for n in mine]):
            yield clip + 0.01 * torch.randn_like(clip), label
