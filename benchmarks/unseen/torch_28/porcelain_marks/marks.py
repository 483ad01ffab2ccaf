"""Photographs of the marks under old plates. The archive server is moody, so reading retries."""
import random
import time

import torch

KILNS = 5


class ArchiveBusy(OSError):
    pass


class Marks:
    def __init__(self, steps, batch, seed=3):
        self.steps, self.batch = steps, batch
        self.gen = torch.Generator().manual_seed(seed)
        self.mood = random.Random(seed)

    def _fetch(self):
        if self.mood.random() < 0.05:
            raise ArchiveBusy("503")
        kiln = torch.randint(0, KILNS, (self.batch,), generator=self.gen)
        image = torch.randn(self.batch, 48, generator=self.gen) + kiln[:, None].float()
        return image, kiln

    def __iter__(self):
        for _ in range(self.steps):
            for attempt in range(6):
                try:
                    item = self._fetch()
                    break
                except ArchiveBusy:
                    time.sleep(0.4 * 2 ** attempt)
            else:
                raise RuntimeError("the archive is down")
            yield item
