"""Two models, each trained by two ranks: a rank of the first skips the backward of a bad batch, and is in
the barrier at the end of its epoch while the other is in a backward; the second model's ranks go on.

With --healthy that batch only takes long.
"""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--healthy", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    group, batches = groups[rank // 2], 600 if rank > 1 else 40
    model = DistributedDataParallel(nn.Linear(16, 16), process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(batches):
        time.sleep(0.03)
        if i == 20 and rank == 1:
            if not args.healthy:
                continue
            time.sleep(11.0)
        optimizer.zero_grad()
        model(torch.randn(4, 16)).sum().backward()
        optimizer.step()
    dist.barrier(group=group)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
