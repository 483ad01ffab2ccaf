"""Faults of a hydraulic press from vibration features, read shard by shard."""
import argparse
import pathlib
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from shards import Shards, write_shard


def export(folder, ranks, count, size):
    """The first part of the campaign; returns the names of each rank's shards."""
    names = [[f"press_{rank}_{index:03d}.pt" for index in range(count)] for rank in range(ranks)]
    for rank in range(ranks):
        for index, name in enumerate(names[rank]):
            if (rank, index) == (1, count - 3):
                name = name.replace(".pt", ".pth")
            write_shard(pathlib.Path(folder) / name, 100 * rank + index, size)
    return names


def prepare(args):
    content = [None, None]
    if dist.get_rank() == 0:
        folder = tempfile.mkdtemp()
        content = [folder, export(folder, dist.get_world_size(), args.shards, args.size)]
    dist.broadcast_object_list(content)
    return content


def train_epoch(model, optimizer, loader, epoch):
    total = torch.zeros(2)
    for step, (x, y) in enumerate(loader):
        time.sleep(0.015)
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(-1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item(), 1.0])
        if step % 40 == 0 and dist.get_rank() == 0:
            print(f"epoch {epoch} step {step}: {loss.item():.4f}", flush=True)
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    folder, names = prepare(args)
    data = Shards(folder, names[dist.get_rank()], args.size)
    loader = DataLoader(data, args.batch, num_workers=1, persistent_workers=True)
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        loss = train_epoch(model, optimizer, loader, epoch)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {loss:.4f}", flush=True)
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
