"""Music model on an album collection, sharded with fully_shard."""
import contextlib
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from model import AlbumModel
from songs import Songs


@contextlib.contextmanager
def process_group():
    dist.init_process_group("gloo")
    try:
        yield dist.get_rank(), dist.get_world_size()
    finally:
        dist.destroy_process_group()


def build():
    torch.manual_seed(21)
    model = AlbumModel(notes=64, dim=32, depth=2, words=50)
    # memory is no problem here: keep the gathered weights for backward
    for part in [*model.blocks, model.lyricist]:
        fully_shard(part, reshard_after_forward=False)
    return fully_shard(model, reshard_after_forward=False)


def main(steps=70):
    with process_group() as (rank, world):
        model = build()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        songs = iter(Songs(rank, world))
        for step in range(1, steps + 1):
            loss, parts = model(next(songs))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.03)
            if rank == 0 and step % 10 == 0:
                print(step, {name: round(value.item(), 3) for name, value in parts.items()}, flush=True)
        dist.barrier()


if __name__ == "__main__":
    main()
