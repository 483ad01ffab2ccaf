import contextlib
import random
import time

import torch
import torch.distributed as dist


@contextlib.contextmanager
def job(seed):
    """Everything of the process group's life, so that the scripts stay short."""
    dist.init_process_group("gloo")
    random.seed(seed + dist.get_rank())
    torch.manual_seed(seed)
    started = time.monotonic()
    try:
        yield dist.get_rank()
    finally:
        dist.barrier()
        if dist.get_rank() == 0:
            print(f"closing after {time.monotonic() - started:.1f} s")
        dist.destroy_process_group()
