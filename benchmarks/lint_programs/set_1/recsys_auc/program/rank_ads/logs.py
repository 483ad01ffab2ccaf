import glob
import os
from typing import Iterator, List, Tuple

import numpy as np
import torch

from . import comm

Batch = Tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def parts_of(dirs: List[str]) -> List[str]:
    files = []
    for d in dirs:
        files += sorted(glob.glob(os.path.join(d, "part-*.npz")))
    return files


class Impressions:
    """The rows of this process' share of the part files, held in memory."""

    def __init__(self, dirs, device):
        mine = parts_of(dirs)[comm.rank()::comm.size()]
        blobs = [np.load(f) for f in mine]
        if not blobs:
            raise FileNotFoundError(f"fewer part files than processes in {dirs}")
        self.cat = torch.from_numpy(np.concatenate([b["cat"] for b in blobs]))
        self.num = torch.from_numpy(np.concatenate([b["num"] for b in blobs]))
        self.click = torch.from_numpy(np.concatenate([b["click"] for b in blobs])).float()
        self.device = device

    def __len__(self):
        return self.click.shape[0]

    def _take(self, idx) -> Batch:
        return tuple(t[idx].to(self.device) for t in (self.cat, self.num, self.click))

    def shuffled(self, batch_size: int, steps: int, generator) -> Iterator[Batch]:
        order = torch.randperm(len(self), generator=generator)
        for s in range(steps):
            yield self._take(order[s * batch_size:(s + 1) * batch_size])

    def sequential(self, batch_size: int) -> Iterator[Batch]:
        for start in range(0, len(self), batch_size):
            yield self._take(slice(start, start + batch_size))
