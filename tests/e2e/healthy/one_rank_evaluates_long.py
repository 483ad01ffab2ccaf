"""The last rank evaluates alone and works with its processor; the others wait in the next step's all-reduce."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn


def evaluate(model: nn.Module, seconds: float) -> float:
    """Mean error over as many batches as there is time for; no wrapper, so nothing is communicated."""
    until, total, batches = time.monotonic() + seconds, 0.0, 0
    with torch.no_grad():
        while time.monotonic() < until:
            rows = torch.randn(256, 32)
            total += float((model(rows).squeeze(1) - rows.sum(dim=1)).square().mean())
            batches += 1
    return total / batches


def step(model: nn.Module, rows: Tensor, size: int) -> float:
    loss = (model(rows).squeeze(1) - rows.sum(dim=1)).square().mean()
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for weight in model.parameters():
            assert weight.grad is not None
            dist.all_reduce(weight.grad)
            weight -= 0.01 * weight.grad / size
    return float(loss.item())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other steps, epochs and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, epochs, seconds = source.randint(5, 20), source.randint(1, 2), source.uniform(10.0, 14.0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    torch.manual_seed(rank)
    for epoch in range(epochs):
        for _ in range(steps):
            loss = step(model, torch.randn(16, 32), size)
        if rank == size - 1:
            print(f"epoch {epoch}: loss {loss:.3f}, held out {evaluate(model, seconds / epochs):.3f}", flush=True)
    step(model, torch.randn(16, 32), size)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
