"""The last rank is late: it needs many seconds before it has so much as imported torch. Argument: seconds."""

from __future__ import annotations

import os
import sys
import time

if int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:
    time.sleep(float(sys.argv[1]))

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
for _ in range(20):
    dist.all_reduce(total)
print(f"rank {dist.get_rank()}: {total.item():.0f}", flush=True)
dist.destroy_process_group()
time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down
