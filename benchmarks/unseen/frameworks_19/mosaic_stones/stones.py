"""Stones of a stall as a pipeline of torchdata nodes."""

import socket
import threading

import numpy as np
import torch
import torchdata.nodes as tn

from depot import PHOTO_BYTES, SIDE


class Stall:
    """Fetches photographs from the depot, over one connection per thread."""

    def __init__(self, port, number, dusty_every=None):
        self.port = port
        self.number = number
        self.dusty_every = dusty_every
        self.local = threading.local()

    def connection(self):
        if not hasattr(self.local, "link"):
            self.local.link = socket.create_connection(("127.0.0.1", self.port))
        return self.local.link

    def fetch(self, index):
        link = self.connection()
        link.sendall(f"{self.number} {index}\n".encode())
        data = b""
        while len(data) < PHOTO_BYTES:
            data += link.recv(PHOTO_BYTES - len(data))
        return np.frombuffer(data, np.float32).reshape(SIDE, SIDE)

    def stone(self, index):
        """A photograph and its class. Dusty stones are photographed twice, and the mean is taken."""
        shot = self.fetch(index)
        if self.dusty_every and index % self.dusty_every == 0:
            shot = (shot + self.fetch(index)) / 2
        return torch.from_numpy(shot.copy()), index % 5


def stack(stones):
    photos, kinds = zip(*stones)
    return torch.stack(photos), torch.tensor(kinds)


def stones_loader(stall, count, batch, seed):
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()
    node = tn.IterableWrapper(order)
    node = tn.ParallelMapper(node, stall.stone, num_workers=2, method="thread")
    node = tn.Batcher(node, batch, drop_last=True)
    node = tn.Mapper(node, stack)
    return tn.Loader(tn.Prefetcher(node, prefetch_factor=2))
