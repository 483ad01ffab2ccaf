"""The rank whose sample is broken cleans up slowly, so that its peers, who only lost a peer, are gone before it."""

import time

import torch
import torch.distributed as dist


class Prefetcher:
    """Hands out samples, and takes its time to shut down."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def sample(self, step: int) -> torch.Tensor:
        if self.rank == 1 and step == 5:
            raise ValueError(f"sample {step} has no label")
        return torch.full((4,), float(step))

    def close(self) -> None:
        dist.destroy_process_group()
        time.sleep(2.0)


def main() -> None:
    dist.init_process_group("gloo")
    prefetcher = Prefetcher(dist.get_rank())
    try:
        for step in range(20):
            dist.all_reduce(prefetcher.sample(step))
    finally:
        prefetcher.close()


if __name__ == "__main__":
    main()
