"""Two ranks that wait for each other until their group's timeout ends the wait and the job."""

from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo", timeout=timedelta(seconds=40))
    for _ in range(3):
        dist.all_reduce(torch.ones(4))
    dist.recv(torch.ones(4), src=1 - dist.get_rank())


if __name__ == "__main__":
    main()
