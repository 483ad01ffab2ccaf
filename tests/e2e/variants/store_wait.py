"""Ranks publish their part of a result in the store; one had nothing to publish and went home."""

import time

import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_store


def main() -> None:
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    store = _get_default_store()
    work = list(range(10))[rank * 4 : rank * 4 + 4]
    if not work:
        return
    store.set(f"result/{rank}", str(sum(work)))
    total = sum(int(store.get(f"result/{peer}")) for peer in range(world_size))
    print(f"rank {rank}: {total}", flush=True)
    time.sleep(0.2)


if __name__ == "__main__":
    main()
