"""Rank 1 never reaches the rendezvous; rank 2 fails before it."""

import os
import time

import torch  # noqa: F401
import torch.distributed as dist

if os.environ["RANK"] == "1":
    time.sleep(300)
if os.environ["RANK"] == "2":
    time.sleep(4)
    raise LookupError("no data set")
dist.init_process_group("gloo")
