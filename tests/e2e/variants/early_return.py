"""Evaluation on the first rank: the others leave the function at once."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def evaluate(network: nn.Module, batches: int) -> float | None:
    """Mean error on held-out data, None where another rank does the work."""
    if dist.get_rank() != 0:
        return None
    network.eval()
    with torch.no_grad():
        errors = [network(torch.randn(4, 8)).abs().mean() for _ in range(batches)]
    network.train()
    dist.barrier()
    return float(torch.stack(errors).mean())


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for _ in range(8):
            optimizer.zero_grad()
            model(torch.randn(4, 8)).square().mean().backward()
            optimizer.step()
        error = evaluate(model.module, batches=4)
        if error is not None:
            print(f"epoch {epoch}: {error:.3f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
