"""Digit reader for photographed water meters; checkpoints by rank 0."""

import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from checkpoints import CheckpointShelf

SAVE_EVERY = 55


def photographs(n=3000):
    g = torch.Generator().manual_seed(77)
    glyphs = torch.randn(10, 1, 12, 8, generator=g)
    digits = torch.randint(0, 10, (n,), generator=g)
    dirt = 0.8 * torch.randn(n, 1, 12, 8, generator=g)
    return TensorDataset(glyphs[digits] + dirt, digits)


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 6 * 4, 24),
        nn.ReLU(),
        nn.Linear(24, 10),
    )


def accuracy(model, batch):
    with torch.no_grad():
        x, y = batch
        hits = torch.tensor([(model.module(x).argmax(1) == y).sum().item(), y.numel()], dtype=torch.float64)
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def train(rank, world, shelf):
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(build())
    opt = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = photographs()
    sampler = DistributedSampler(data, world, rank, seed=5)
    loader = DataLoader(data, batch_size=10, sampler=sampler)
    step = 0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            time.sleep(0.03)
            step += 1
            if shelf is not None and step % SAVE_EVERY == 0:
                shelf.save(step, {"model": model.module.state_dict(), "opt": opt.state_dict(), "step": step})
        score = accuracy(model, (x, y))
        if rank == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f} accuracy {score:.3f}", flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as mirror:
        shelf = CheckpointShelf(folder, mirror) if rank == 0 else None
        train(rank, world, shelf)
        if shelf is not None:
            shelf.close()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
