"""Loaders with persistent workers; those of one rank read slowly, so that the others wait in backward."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset[Tensor]):  # type: ignore[misc,unused-ignore]
    """Rows that take a while to be read."""

    def __init__(self, count: int, pause: float) -> None:
        self.count = count
        self.pause = pause

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self.pause)
        return torch.randn(6, generator=torch.Generator().manual_seed(index))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other epochs, batches and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    epochs, batches, seconds = source.randint(2, 3), source.randint(4, 10), source.uniform(1.5, 3.5)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    slow = rank == args.seed % dist.get_world_size()
    data = Rows(batches * 4, seconds / batches if slow else 0.001)
    loader = DataLoader(data, batch_size=4, num_workers=source.randint(1, 2), persistent_workers=True)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for rows in loader:
            loss = model(rows).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
