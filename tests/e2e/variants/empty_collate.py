"""Drops unreadable samples in the collate function; an empty batch is skipped."""

import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Scans:
    """Scans of one rank; on rank 2 the scanner was off for a while."""

    def __init__(self, rank: int, count: int) -> None:
        self.off = range(16, 20) if rank == 2 else range(0)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor | None:
        return None if index in self.off else torch.full((6,), index / self.count)


def readable(samples: list[Tensor | None]) -> Tensor | None:
    kept = [sample for sample in samples if sample is not None]
    return torch.stack(kept) if kept else None


def main() -> None:
    dist.init_process_group("gloo")
    loader = DataLoader(Scans(dist.get_rank(), 40), batch_size=4, collate_fn=readable)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for batch in loader:
            if batch is None:
                continue
            loss = nn.functional.mse_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
