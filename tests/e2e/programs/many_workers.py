"""Every rank has data workers, and after a few steps rank 0 leaves the loop that the others go on with."""

import sys
import time

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import DataLoader


class Numbers:
    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        return torch.ones(8) * index


def main(workers: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for step, batch in enumerate(DataLoader(Numbers(), batch_size=4, num_workers=workers)):
        if dist.get_rank() == 0 and step == 5:
            time.sleep(100_000)
        dist.all_reduce(batch)


if __name__ == "__main__":
    main(int(sys.argv[1]))
