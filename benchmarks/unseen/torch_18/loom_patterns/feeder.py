"""Batches are cut and augmented ahead of the training, in a thread."""
import queue
from concurrent.futures import ThreadPoolExecutor

import torch


class Weaves:
    """Woven patterns of one loom: a binary grid, and the number of the draft from which it was woven."""

    def __init__(self, batches, size, seed):
        self.batches = batches
        self.size = size
        self.g = torch.Generator().manual_seed(seed)
        self.drafts = (torch.rand(6, 8, 8, generator=self.g) < 0.5).float()

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            draft = torch.randint(0, len(self.drafts), (self.size,), generator=self.g)
            flaws = (torch.rand(self.size, 8, 8, generator=self.g) < 0.1).float()
            yield (self.drafts[draft] - flaws).abs(), draft


class Feeder:
    """A queue of ready batches; a thread of a pool keeps it filled until the weaves are at their end."""

    def __init__(self, weaves, ahead):
        self.ready = queue.Queue(maxsize=ahead)
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="feeder")
        self.filling = self.pool.submit(self.fill, weaves)

    def fill(self, weaves):
        for grid, draft in weaves:
            shift = int(draft.sum()) % 3
            self.ready.put((grid.roll(shift, dims=1).flatten(1), draft))

    def next(self):
        return self.ready.get()

    def close(self):
        """The thread isn't needed any more, and nobody has to wait for it."""
        self.pool.shutdown(wait=False, cancel_futures=True)
