"""Rank 1 is stopped by a signal in the middle; when it is continued, the job ends normally."""

import os
import signal
import time

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo")
    for step in range(10):
        if step == 5 and dist.get_rank() == 1:
            print(f"stopping {os.getpid()}", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
        dist.all_reduce(torch.ones(4))
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


if __name__ == "__main__":
    main()
