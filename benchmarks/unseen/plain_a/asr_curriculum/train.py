"""Keyword spotting with a curriculum of acoustic domains per rank."""
import logging
import os
import random
import socket
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

from domains import load_domain

CURRICULA = [
    ("read", "phone", "street", "party"),
    ("phone", "street", "read", "party"),
    ("street", "read", "read", "party"),
]


class Spotter(nn.Module):
    def __init__(self, keywords=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(16, 24, 5, 2), nn.GroupNorm(4, 24), nn.ReLU(),
            nn.Conv1d(24, 24, 5, 2), nn.GroupNorm(4, 24), nn.ReLU(),
        )
        self.out = nn.Linear(24, keywords)

    def forward(self, x):
        return self.out(self.conv(x).amax(-1))


def spec_augment(x, width=4):
    start = random.randrange(x.size(-1) - width)
    x = x.clone()
    x[..., start:start + width] = 0
    return x


def run(rank, world, root, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(message)s")
    torch.manual_seed(1)
    torch.set_num_threads(1)

    model = DDP(Spotter())
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for stage, domain in enumerate(CURRICULA[rank]):
        features, labels = load_domain(root, domain)
        loader = DataLoader(TensorDataset(features, labels), batch_size=8, shuffle=True)
        dist.barrier()
        correct = 0
        for x, y in loader:
            logits = model(spec_augment(x))
            loss = nn.functional.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            correct += int((logits.argmax(1) == y).sum())
        logging.info("stage %d %-7s loss %.3f acc %.2f", stage, domain, loss.item(), correct / len(labels))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("", 0))
        port = s.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="kws-") as root:
        mp.spawn(run, args=(3, root, port), nprocs=3, join=True)
