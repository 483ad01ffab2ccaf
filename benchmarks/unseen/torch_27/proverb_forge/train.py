"""A tensor-parallel character model of proverbs. Rank 0 reads, everybody computes."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from feeder import ALPHABET, WIDTH, Feeder
from model import CharModel, split

STEPS = 600
ROWS = 6


def share(feeder):
    """All ranks of the tensor-parallel group have to see the same text."""
    if feeder is not None:
        ids = feeder.next_batch()
    else:
        ids = torch.empty(ROWS, WIDTH, dtype=torch.long)
    dist.broadcast(ids, src=0)
    return ids


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(3)
    model = split(CharModel(len(ALPHABET) + 1), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, foreach=False)
    feeder = Feeder(seed=11, rows=ROWS) if rank == 0 else None

    started = time.time()
    for step in range(STEPS):
        ids = share(feeder)
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 40 == 0:
            print(f"{step:4d}  {loss.item():.3f}  {time.time() - started:.1f} s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
