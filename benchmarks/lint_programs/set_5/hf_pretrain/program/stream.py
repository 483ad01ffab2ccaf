"""Token blocks out of many shard files, in shuffled order."""
import glob
import os
import random

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info


class TokenStream(IterableDataset):
    def __init__(self, pattern, block_size, buffer, seed=0):
        self.files = sorted(glob.glob(pattern))
        if not self.files:
            raise FileNotFoundError(pattern)
        self.block_size = block_size
        self.buffer = buffer
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def my_files(self, rng):
        files = list(self.files)
        rng.shuffle(files)
        rank = int(os.environ.get("RANK", 0))
        world = int(os.environ.get("WORLD_SIZE", 1))
        files = files[rank::world]
        worker = get_worker_info()
        if worker is not None:
            files = files[worker.id::worker.num_workers]
        return files

    def blocks(self, files):
        for path in files:
            tokens = np.load(path, mmap_mode="r")
            for start in range(0, len(tokens) - self.block_size + 1, self.block_size):
                yield torch.from_numpy(tokens[start:start + self.block_size].astype(np.int64))

    def __iter__(self):
        rng = random.Random(self.seed + self.epoch)
        held = []
        for block in self.blocks(self.my_files(rng)):
            held.append(block)
            if len(held) >= self.buffer:
                yield self.example(held.pop(rng.randrange(len(held))))
        rng.shuffle(held)
        for block in held:
            yield self.example(block)

    @staticmethod
    def example(block):
        return {"input_ids": block, "labels": block.clone()}
