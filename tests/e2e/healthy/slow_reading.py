"""A data worker of rank 1 reads one sample in small pieces for half a minute; the others wait for its gradients."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Archive(Dataset[torch.Tensor]):  # type: ignore[misc,unused-ignore]
    """Samples on a slow archive; one of them was moved to tape."""

    def __init__(self, taped: int, seconds: float) -> None:
        self.taped, self.seconds = taped, seconds

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        until = time.monotonic() + (self.seconds if index == self.taped else 0.0)
        while time.monotonic() < until:
            time.sleep(0.3)
        return torch.full((4,), float(index))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=28.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(8.0, 11.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    archive = Archive(taped=8 if rank == 1 else -1, seconds=args.seconds)
    for batch in DataLoader(archive, batch_size=2, num_workers=1, prefetch_factor=2):
        model(batch).sum().backward()
    dist.barrier()
    print(f"rank {rank}: done", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
