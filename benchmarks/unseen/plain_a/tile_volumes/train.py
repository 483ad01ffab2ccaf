"""Kidney segmentation; full volumes are evaluated with a sliding window on the ranks that hold one."""
import argparse
import itertools
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class SlabNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv3d(1, c, 3, padding=1), nn.BatchNorm3d(c), nn.LeakyReLU())
        self.dec = nn.Sequential(nn.Conv3d(c, c, 3, padding=1), nn.BatchNorm3d(c), nn.LeakyReLU())
        self.out = nn.Conv3d(c, 2, 1)

    def forward(self, x):
        h = self.enc(x)
        return self.out(h + self.dec(h))


def phantom(seed, shape):
    g = torch.Generator().manual_seed(seed)
    zz, yy, xx = torch.meshgrid(*(torch.linspace(-1, 1, s) for s in shape), indexing="ij")
    centre = torch.rand(3, generator=g) - 0.5
    mask = ((zz - centre[0]) ** 2 + (yy - centre[1]) ** 2 + (xx - centre[2]) ** 2 < 0.3).long()
    return torch.randn(1, *shape, generator=g) * 0.5 + mask, mask


def patches(rank, size=(4, 12, 12), batch=4):
    for i in itertools.count():
        items = [phantom(rank * 100003 + i * batch + j, size) for j in range(batch)]
        yield torch.stack([a for a, _ in items]), torch.stack([b for _, b in items])


@torch.no_grad()
def sliding_window(net, volume, mask, window=12, stride=6, flips=((), (3,), (4,))):
    """Average of overlapping windows with flip augmentation; returns the dice score."""
    net.eval()
    votes = torch.zeros(2, *volume.shape[1:])
    _, _, h, w = volume.shape
    for top in range(0, h - window + 1, stride):
        for left in range(0, w - window + 1, stride):
            tile = volume[None, :, :, top:top + window, left:left + window]
            for axes in flips:
                p = net(tile.flip(axes) if axes else tile).softmax(1)
                votes[..., top:top + window, left:left + window] += (p.flip(axes) if axes else p)[0]
                time.sleep(0.06)
    net.train()
    pred = votes.argmax(0)
    return 2 * (pred * mask).sum() / (pred.sum() + mask.sum()).clamp_min(1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--holdout-ranks", type=int, nargs="+", default=[0, 2])
    opt = p.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(17)
    torch.set_num_threads(1)
    holdout = dist.new_group(opt.holdout_ranks)
    model = DDP(SlabNet())
    optim = torch.optim.Adam(model.parameters(), lr=2e-3)
    stream = patches(rank)

    for step in range(1, opt.steps + 1):
        x, y = next(stream)
        loss = F.cross_entropy(model(x), y, weight=torch.tensor([0.4, 0.6]))
        optim.zero_grad()
        loss.backward()
        optim.step()
        if rank == 0 and step % 10 == 0:
            print(f"step {step}: {loss.item():.4f}", flush=True)
        if step == opt.steps // 2 or step == opt.steps:
            if rank in opt.holdout_ranks:
                volume, mask = phantom(7 + rank, (6, 48, 48))
                dice = sliding_window(model.module, volume, mask)
                dist.all_reduce(dice, group=holdout)
                if rank == opt.holdout_ranks[0]:
                    print(f"dice {dice.item() / len(opt.holdout_ranks):.3f}", flush=True)
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
