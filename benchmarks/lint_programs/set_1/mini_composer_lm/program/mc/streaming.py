from pathlib import Path
from typing import Iterator

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from mc import dist


class TokenShards(IterableDataset):
    """Endless stream of (seq + 1)-token windows; shard order changes with every pass."""

    def __init__(self, root: str, seq: int, seed: int = 17):
        self.paths = sorted(Path(root).glob("*.npy"))
        self.seq = seq
        self.seed = seed

    def _slot(self):
        info = get_worker_info()
        wid, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        return wid, workers

    def __iter__(self) -> Iterator[torch.Tensor]:
        slot, slots = self._slot()
        if len(self.paths) < slots:
            raise ValueError(f"{len(self.paths)} shards cannot feed {slots} readers")
        epoch = 0
        while True:
            rng = np.random.default_rng((self.seed, epoch))
            order = rng.permutation(len(self.paths))
            for shard in order[slot::slots]:
                yield from self._windows(self.paths[shard], rng)
            epoch += 1

    def _windows(self, path: Path, rng) -> Iterator[torch.Tensor]:
        tokens = np.load(path, mmap_mode="r")
        starts = np.arange(0, len(tokens) - self.seq - 1, self.seq)
        rng.shuffle(starts)
        for s in starts:
            yield torch.from_numpy(tokens[s : s + self.seq + 1].astype(np.int64))


class HeldOut(torch.utils.data.Dataset):
    """This rank's slice of the held-out windows."""

    def __init__(self, path: str, seq: int):
        self.tokens = np.load(path, mmap_mode="r")
        self.seq = seq
        n = (len(self.tokens) - 1) // seq
        self.mine = range(dist.get_rank(), n, dist.get_world_size())

    def __len__(self):
        return len(self.mine)

    def __getitem__(self, i):
        s = self.mine[i] * self.seq
        return torch.from_numpy(self.tokens[s : s + self.seq + 1].astype(np.int64))
