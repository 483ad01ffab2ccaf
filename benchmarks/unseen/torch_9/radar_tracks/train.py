"""Speed vectors of radar tracks. Sweeps differ in size, so every rank cuts its own into micro-batches."""

import contextlib
import itertools
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader

from scenes import FIELDS, Scenes, open_archive

MAX_ROWS = 48


def sweep_step(model, optimizer, x, y):
    parts = list(zip(x.split(MAX_ROWS), y.split(MAX_ROWS)))
    total = 0.0
    for k, (xs, ys) in enumerate(parts, start=1):
        quiet = model.no_sync() if k < len(parts) else contextlib.nullcontext()
        with quiet:
            loss = nn.functional.mse_loss(model(xs), ys, reduction="sum") / len(x)
            loss.backward()
        time.sleep(0.012)
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total, len(parts)


def common_length(loader):
    n = torch.tensor(len(loader))
    dist.all_reduce(n, op=dist.ReduceOp.MIN)
    return int(n)


def export(model, folder):
    """Table of responses for the control room, row by row."""
    grid = torch.eye(FIELDS).repeat(14, 1)
    with torch.no_grad(), (Path(folder) / "table.csv").open("w") as f:
        for row in grid:
            f.write(",".join(f"{v:.5f}" for v in model.module(row.unsqueeze(0))[0].tolist()) + "\n")
            time.sleep(0.02)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(15)
    net = nn.Sequential(nn.Linear(FIELDS, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005)
    loader = DataLoader(Scenes(rank), batch_size=None, shuffle=False, num_workers=2, worker_init_fn=open_archive)

    steps = common_length(loader)
    micro = 0
    for i, (x, y) in enumerate(itertools.islice(loader, steps)):
        try:
            loss, parts = sweep_step(model, optimizer, x, y)
        except Exception:
            print(f"rank {rank}: sweep {i} with {len(x)} tracks failed", flush=True)
            raise
        micro += parts
        if i % 30 == 29 and rank == 0:
            print(f"sweep {i + 1}/{steps} loss {loss:.4f} micro-batches {micro}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        if rank == 0:
            export(model, folder)
        dist.barrier()
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, micro)
    if rank == 0:
        print(f"micro-batches by rank: {counts}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
