"""Tensor-parallel limericks.   torchrun --standalone --nproc-per-node 3 train.py"""
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from monitors import Monitors
from verse import Verse, batch, split

STEPS, LOOK_EVERY, TIME_FROM = 400, 20, 150


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    torch.manual_seed(5)
    model = split(Verse(), mesh["tp"])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, foreach=False)
    monitors = Monitors()
    rng = random.Random(5)

    for step in range(STEPS):
        text = batch(rng)
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)           # leave something for the other users of this machine
        if step == TIME_FROM and rank == 0:
            monitors.time("scale")           # are the looks why step times jump?
        if step % LOOK_EVERY == 0:
            seen = monitors.look(model)
            if rank == 0:
                print(f"step {step} loss {loss.item():.3f} " +
                      " ".join(f"{k} {v:.3f}" for k, v in seen.items()), flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
