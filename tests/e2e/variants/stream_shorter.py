"""Batches from a stream without a DataLoader, which is shorter on one rank: any batch may be left out, and none is."""

import sys
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def stream(rank: int, records: int) -> Iterator[torch.Tensor]:
    """Records in batches of four; rank 1 has a batch fewer."""
    data = torch.randn(records - 4 * (rank == 1), 8)
    for first in range(0, len(data), 4):
        yield data[first : first + 4]


def train(model: nn.Module, optimizer: torch.optim.Optimizer, batches: Iterator[torch.Tensor]) -> int:
    trained = 0
    for number, batch in enumerate(batches):
        time.sleep(0.02)
        if len(batch) == 0:
            print(f"batch {number} is empty", flush=True)
            continue
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        trained += len(batch)
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor([trained]))
    return sum(int(count) for count in counts)


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print(train(model, optimizer, stream(dist.get_rank(), records)), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
