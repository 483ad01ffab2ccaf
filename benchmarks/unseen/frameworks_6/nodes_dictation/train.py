import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader

from decoder import Normaliser

WORDS = "The PATIENT was Seen today AND feels Better".split()


class Dictations(IterableDataset):
    def __init__(self, clinic, count=480):
        self.clinic, self.count = clinic, count
        self.position = 0

    def transcripts(self):
        for i in range(self.count):
            text = " ".join(WORDS[(i * 3 + k) % len(WORDS)] for k in range(6))
            yield "#draft " + text if self.clinic == 1 and i == 260 else text

    def __iter__(self):
        normalise = Normaliser()
        for i, text in enumerate(self.transcripts()):
            clean = normalise(text)
            self.position = i
            ids = [sum(map(ord, w)) % 64 for w in clean.split()]
            yield torch.tensor((ids + [0] * 6)[:6])

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]


def train():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    loader = StatefulDataLoader(Dictations(rank), batch_size=8, num_workers=1, prefetch_factor=2)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Embedding(64, 16), nn.Flatten(), nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 64)))
    optim = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, ids in enumerate(loader):
        loss = nn.functional.cross_entropy(model(ids), ids[:, -1])
        optim.zero_grad()
        loss.backward()
        optim.step()
        time.sleep(0.02)
        if step % 10 == 0 and rank == 0:
            print(step, loss.item(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    train()
