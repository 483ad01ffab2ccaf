"""Cactus species from thumbnails.   torchrun --standalone --nproc-per-node 3 train.py"""
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from photos import make_loader
from thumbs import SIDE, ThumbCache


def common_folder(base):
    name = [base]
    dist.broadcast_object_list(name, src=0)
    return Path(name[0])


def run_epoch(model, loader, optimizer):
    total = torch.zeros(2)
    for thumbs, species in loader:
        loss = nn.functional.cross_entropy(model(thumbs), species)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item(), 1.0])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(
        nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 32), nn.ReLU(), nn.Linear(32, 3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    with tempfile.TemporaryDirectory() as own:
        cache = ThumbCache(common_folder(own))
        loader = make_loader(cache, rank, world)
        for epoch in range(3):
            mean = run_epoch(model, loader, optimizer)
            if rank == 0:
                print(f"epoch {epoch} loss {mean:.3f}", flush=True)
                cache.trim_in_background()       # one of us is enough
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
