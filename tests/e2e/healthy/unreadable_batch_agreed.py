"""A loader whose worker cannot read a file, and ranks that agree before each step whether all have a batch."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Files(Dataset[Tensor]):  # type: ignore[misc,unused-ignore]
    def __init__(self, count: int, unreadable: int) -> None:
        self.count = count
        self.unreadable = unreadable

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        if index == self.unreadable:
            raise OSError("not a file that can be read")
        return torch.randn(3, generator=torch.Generator().manual_seed(index))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other sizes, files and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    count, seconds = 2 * source.randint(8, 16), source.uniform(0.1, 0.4)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    unreadable = source.randrange(count) if rank == args.seed % size else -1
    model = DistributedDataParallel(nn.Linear(3, 3))
    batches = iter(DataLoader(Files(count, unreadable), batch_size=2))
    while True:
        batch, there = torch.zeros(2, 3), 1
        try:
            batch = next(batches)
        except OSError:
            pass
        except StopIteration:
            there = 0
        everywhere = torch.tensor([there])
        dist.all_reduce(everywhere, op=dist.ReduceOp.MIN)
        if not everywhere.item():
            break
        model(batch).sum().backward()
        time.sleep(seconds)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
