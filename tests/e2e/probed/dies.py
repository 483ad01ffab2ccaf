"""Rank 1 raises; its clean-up takes a second; rank 0 lives until it is signalled."""

import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 1:
    try:
        raise KeyError("the reason")  # raised here
    finally:
        dist.destroy_process_group()
        time.sleep(1)
time.sleep(120)
