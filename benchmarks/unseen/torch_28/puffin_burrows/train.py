"""Counts puffins.   torchrun --standalone --nproc-per-node 3 train.py"""
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from burrows import FRAMES, SIDE, clips
from gallery import Gallery


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(FRAMES, 6, 3)
        self.out = nn.Linear(6 * (SIDE - 2) ** 2, 1)

    def forward(self, clip):
        return self.out(torch.relu(self.conv(clip)).flatten(1)).squeeze(1)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(Counter())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    with tempfile.TemporaryDirectory() as folder:
        gallery = Gallery(Path(folder))
        errors = torch.zeros(1)
        for i, (name, clip, puffins) in enumerate(clips(rank)):
            guess = model(clip[None])
            loss = (guess - puffins).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors += loss.item()
            if i % 10 == 0:
                gallery.add(name, clip)
        dist.all_reduce(errors)
        if rank == 0:
            print(f"mean squared error {errors.item() / (300 * dist.get_world_size()):.3f}", flush=True)
        dist.barrier()
        dist.destroy_process_group()
        gallery.close()


if __name__ == "__main__":
    main()
