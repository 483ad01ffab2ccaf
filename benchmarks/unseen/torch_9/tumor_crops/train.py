"""Lesion segmentation over the sites of a trial; every rank trains on the slices of its own site."""

import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from slices import TrialSlices

SITES = ("control", "treated", "control")


class Segmenter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.Conv2d(width, width, 3, padding=2, dilation=2)
        self.norm = nn.GroupNorm(3, width)
        self.leave = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = F.relu(self.enter(x))
        x = x + F.relu(self.norm(self.middle(x)))
        return self.leave(x)


def dice_loss(logits, target):
    p = torch.sigmoid(logits)
    overlap = (p * target).sum(dim=(1, 2, 3))
    total = p.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return (1 - (2 * overlap + 1) / (total + 1)).mean()


def fit(rank, epochs=2):
    torch.manual_seed(3)
    net = DDP(Segmenter())
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    data = TrialSlices(SITES[rank % len(SITES)], site=rank)
    loader = DataLoader(data, batch_size=8, num_workers=2, drop_last=True)

    for epoch in range(epochs):
        net.train()
        running = 0.0
        for step, (image, target) in enumerate(loader, start=1):
            logits = net(image)
            loss = dice_loss(logits, target) + F.binary_cross_entropy_with_logits(logits, target)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            time.sleep(0.03)
            running += loss.item()
            if rank == 0 and step % 25 == 0:
                print(f"epoch {epoch} step {step}/{len(loader)} loss {running / step:.4f}", flush=True)
        mean = torch.tensor([running / len(loader)])
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch}: {mean.item() / dist.get_world_size():.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    fit(dist.get_rank())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
