"""Char-level LM with per-rank optimizer shards that are saved when the batch system asks for it."""
import io
import os
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from preempt import Notice, scheduler_stub, throttled_write

STEPS = 160


def build():
    torch.manual_seed(0)
    return DDP(nn.Sequential(nn.Embedding(64, 48), nn.Linear(48, 192), nn.GELU(), nn.Linear(192, 64)))


def save_shard(model, opt, rank, folder):
    # the storage of the second node is a slow one
    params = list(model.module.parameters())
    blob = io.BytesIO()
    torch.save({"weights": [p.detach() for p in params], "optim": opt.optim.state_dict()}, blob)
    data = blob.getvalue()
    pause = 14.0 / (len(data) / 2048) if rank == 1 else 0.001
    throttled_write(os.path.join(folder, f"shard{rank}.pt"), data, pause=pause)
    return len(data)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    notice = Notice()
    folder = tempfile.mkdtemp(prefix="slice_")
    model = build()
    opt = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=1e-3)
    gen = torch.Generator().manual_seed(rank)
    for step in range(STEPS):
        ids = torch.randint(0, 64, (8, 17), generator=gen)
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.08)
        scheduler_stub(step, rank)
        if notice.agreed():
            size = save_shard(model, opt, rank, folder)
            dist.barrier()
            if rank == 0:
                print(f"step {step}: shards saved ({size} bytes here)", flush=True)
        if rank == 0 and step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
