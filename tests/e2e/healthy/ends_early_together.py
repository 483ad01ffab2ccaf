"""All ranks leave the middle of an epoch when the budget of steps is used up, then one writes a long report."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def report(losses: list[float], seconds: float) -> str:
    """A table, row by row, drawn slowly."""
    rows = []
    for step, loss in enumerate(losses):
        time.sleep(seconds / len(losses))
        rows.append(f"{step:4d} {loss:.5f}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other budgets, batches and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    budget, rows, seconds = source.randint(5, 30), source.randint(80, 160), source.uniform(2.0, 4.5)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = TensorDataset(torch.randn(rows + 4 * rank, 6, generator=torch.Generator().manual_seed(rank)))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses: list[float] = []
    for _ in range(100):
        for (batch,) in DataLoader(data, batch_size=rows // 20):
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == budget:
                break
        if len(losses) == budget:
            break
    dist.destroy_process_group()
    if rank == 0:
        print(report(losses, seconds), flush=True)
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
