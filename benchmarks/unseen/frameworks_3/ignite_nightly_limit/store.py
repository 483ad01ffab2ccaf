"""Shards of the sensor archive. Some nodes still have last night's copy, the others unpack it again."""
import time

import torch
from torch.utils.data import TensorDataset

WARM = {"node-b"}


def node_name(rank):
    return "node-" + "abcdefgh"[rank]


def unpack(parts=80):
    for _ in range(parts):
        time.sleep(0.1)


class ShardStore:
    def __init__(self, rank, n=320):
        self.rank, self.n = rank, n

    def open(self):
        if node_name(self.rank) not in WARM:
            unpack()
        g = torch.Generator().manual_seed(60 + self.rank)
        x = torch.randn(self.n, 16, generator=g)
        return TensorDataset(x, x[:, :4].sum(-1, keepdim=True).tanh())
