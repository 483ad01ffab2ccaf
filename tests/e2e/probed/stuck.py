"""Three ranks that hang, each in its own way."""

import ctypes

import torch
import torch.distributed as dist


def fail() -> None:
    raise ValueError("hidden by a finally")


def rank_0() -> None:
    dist.all_reduce(torch.ones(7), async_op=True).wait()  # rank 0 waits here


def rank_1() -> None:
    try:
        fail()  # rank 1 failed here
    finally:
        dist.barrier()  # rank 1 waits here


def rank_2() -> None:
    print("holding", flush=True)
    ctypes.PyDLL(None).sleep(300)  # the GIL is held


dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
(rank_0, rank_1, rank_2)[dist.get_rank()]()
