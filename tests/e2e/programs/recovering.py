"""Rank 1 fails in the first attempt; the second succeeds.

Only the second makes a group: in torch 2.13, gloo may find addresses of the first attempt in the launcher's store.
"""

import os
import time

import torch
import torch.distributed as dist

settings = {"width": 8}
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    time.sleep(1.0)
    print(settings["depth" if os.environ["RANK"] == "1" else "width"])
    time.sleep(60.0)
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
dist.barrier()
dist.destroy_process_group()
time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down
