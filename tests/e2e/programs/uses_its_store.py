"""Steps of ranks that use the job's store all the time: `uses_its_store.py SECONDS` prints the worst milliseconds."""

from __future__ import annotations

import sys
import time

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo")
    rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
    began, number, worst = time.monotonic(), torch.ones(1), 0.0
    half = began + float(sys.argv[1]) / 2
    slept = False
    go_on = torch.ones(1)
    while go_on.item():
        for turn in range(10):
            before = time.perf_counter()
            store.set(f"mine/{rank}", b"x" * 64)
            store.get(f"mine/{rank}")
            worst = max(worst, time.perf_counter() - before)
            time.sleep(0.005 * (turn < 9))
        if rank == 1 and not slept and time.monotonic() > half:
            slept = True
            time.sleep(8.0)
        dist.all_reduce(number)
        go_on.fill_(float(time.monotonic() - began < float(sys.argv[1])))
        dist.broadcast(go_on, src=0)
    print(f"rank {rank}: {worst * 1e3:.1f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.3)


if __name__ == "__main__":
    main()
