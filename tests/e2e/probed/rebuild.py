"""Rank 1 is missing at DDP's second step: rank 2 waits in the rebuild of the buckets, in C++ below a forward."""

import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(2, 2))
model(torch.ones(1, 2)).sum().backward()
if rank == 0:
    time.sleep(300)
model(torch.ones(1, 2))  # second forward
