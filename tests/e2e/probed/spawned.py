"""Ranks made by torch.multiprocessing: `spawned.py spawn|fork|forkserver [fail]`. They have no RANK."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader


def work(rank: int, store: str, fail: bool) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    for _ in DataLoader(torch.ones(4, 2), batch_size=2, num_workers=1):
        dist.all_reduce(torch.ones(3))
    if fail and rank == 1:
        raise ZeroDivisionError("in a child")
    if fail:
        time.sleep(60)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    method, store = sys.argv[1], os.environ["STORE"]
    arguments = (store, "fail" in sys.argv)
    if method == "spawn":
        mp.spawn(work, arguments, nprocs=2)
    else:
        context = mp.get_context(method)
        children = [context.Process(target=work, args=(rank, *arguments)) for rank in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        print([child.exitcode for child in children])
