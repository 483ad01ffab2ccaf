"""Rank 0 evaluates through model.module, past the wrapper, while the others wait in a barrier."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


def accuracy(model: nn.Module, batches: int, seconds: float) -> float:
    """Share of held-out rows that are on the right side; each batch takes its time to be read."""
    model.eval()
    right = 0.0
    for number in range(batches):
        time.sleep(seconds / batches)
        rows = torch.randn(8, 10, generator=torch.Generator().manual_seed(number))
        with torch.no_grad():
            right += float((model(rows).squeeze(1) > 0).eq(rows.sum(dim=1) > 0).float().mean())
    model.train()
    return right / batches


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> Tensor:
    loss = torch.zeros(())
    for _ in range(steps):
        rows = torch.randn(8, 10)
        loss = nn.functional.mse_loss(model(rows), rows.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.detach()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another number of epochs, steps and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    epochs, steps = source.randint(1, 2), source.randint(4, 24)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(rank)
    for epoch in range(epochs):
        train_epoch(model, optimizer, steps)
        if rank == 0:
            score = accuracy(model.module, 5, source.uniform(2.0, 4.5))
            print(f"epoch {epoch}: {score:.2f} right", flush=True)
        dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
