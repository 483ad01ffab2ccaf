"""Organ segmentation on synthetic CT slices with large effective batches.

    torchrun --nproc-per-node 4 train.py --accum 8
"""
import argparse
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset

CLASSES = 3


class Slices(Dataset):
    def __init__(self, n, size=32, offset=0):
        self.n, self.size, self.offset = n, size, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(self.offset + i)
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        mask = torch.zeros(self.size, self.size, dtype=torch.long)
        for c in range(1, CLASSES):
            cy, cx = (torch.rand(2, generator=gen) * self.size).tolist()
            r = 4 + 4 * torch.rand(1, generator=gen).item()
            mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = c
        image = mask.float() / CLASSES + 0.1 * torch.randn(self.size, self.size, generator=gen)
        return image.unsqueeze(0), mask


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.d1, self.d2 = block(1, width), block(width, 2 * width)
        self.mid = block(2 * width, 2 * width)
        self.u1 = block(4 * width, width)
        self.head = nn.Conv2d(2 * width, CLASSES, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        m = F.interpolate(m, scale_factor=2)
        u = self.u1(torch.cat([m, b], dim=1))
        u = F.interpolate(u, scale_factor=2)
        return self.head(torch.cat([u, a], dim=1))


def train_epoch(model, loader, opt, accum, device):
    model.train()
    seen = torch.zeros(2, device=device)
    usable = len(loader) // accum * accum
    for step, (image, mask) in enumerate(loader):
        if step >= usable:
            break
        image, mask = image.to(device), mask.to(device)
        boundary = (step + 1) % accum == 0
        loss = F.cross_entropy(model(image), mask)
        with contextlib.nullcontext() if boundary else model.no_sync():
            (loss / accum).backward()
        if boundary:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
        seen += torch.stack([loss.detach(), torch.ones_like(loss.detach())])
    dist.all_reduce(seen)
    return (seen[0] / seen[1]).item()


@torch.no_grad()
def dice(model, loader, device):
    model.eval()
    inter = torch.zeros(CLASSES, device=device)
    union = torch.zeros(CLASSES, device=device)
    for image, mask in loader:
        pred, mask = model(image.to(device)).argmax(1), mask.to(device)
        for c in range(CLASSES):
            inter[c] += ((pred == c) & (mask == c)).sum()
            union[c] += (pred == c).sum() + (mask == c).sum()
    dist.all_reduce(inter)
    dist.all_reduce(union)
    return (2 * inter / union.clamp(min=1)).mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--out", default="unet.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(0)

    train, val = Slices(64), Slices(21, offset=10_000)
    sampler = DistributedSampler(train, shuffle=True, drop_last=True)
    loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(Subset(val, range(rank, len(val), world)), args.batch_size)

    model = DDP(UNet().to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    best = -1.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, opt, args.accum, device)
        score = dice(model.module, val_loader, device)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f} dice {score:.4f}", flush=True)
            if score > best:
                best = score
                torch.save(model.module.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
