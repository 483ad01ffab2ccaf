#!/usr/bin/env python
import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from dataset import SparseDepth

log = logging.getLogger("depth")


class DepthNet(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.GroupNorm(4, ch), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(ch, 2 * ch, 3, 2, 1), nn.GroupNorm(4, 2 * ch), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * ch, ch, 2, 2)
        self.out = nn.Conv2d(2 * ch, 1, 3, padding=1)

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(a))
        return F.softplus(self.out(torch.cat([a, b], 1))) + 1e-3


def silog_loss(pred, target, lam=0.5):
    valid = target > 0
    d = torch.log(pred[valid]) - torch.log(target[valid])
    return torch.sqrt((d**2).mean() - lam * d.mean() ** 2)


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch-size", type=int, default=2)
    ap.add_argument("--samples", type=int, default=2000)
    ap.add_argument("--empty-rate", type=float, default=0.05)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--save", default="depthnet.pth")
    ap.add_argument("--resume", default="")
    return ap.parse_args()


def train_one_epoch(model, loader, optimizer, device, args, epoch):
    model.train()
    loader.sampler.set_epoch(epoch)
    total = torch.zeros(2, device=device)
    skipped = 0
    for step, (rgb, depth) in enumerate(loader):
        rgb = rgb.to(device, non_blocking=True)
        depth = depth.to(device, non_blocking=True)

        optimizer.zero_grad(set_to_none=True)
        loss = silog_loss(model(rgb), depth)
        if not torch.isfinite(loss):
            skipped += 1
            log.warning("epoch %d step %d: loss is %s, skipping batch", epoch, step, loss.item())
            continue
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        total += torch.stack([loss.detach(), torch.ones_like(loss)])
    dist.all_reduce(total)
    return (total[0] / total[1].clamp(min=1)).item(), skipped


@torch.no_grad()
def abs_rel(model, loader, device):
    model.eval()
    acc = torch.zeros(2, device=device)
    for rgb, depth in loader:
        depth = depth.to(device)
        pred = model(rgb.to(device))
        valid = depth > 0
        acc[0] += ((pred - depth).abs()[valid] / depth[valid]).sum()
        acc[1] += valid.sum()
    dist.all_reduce(acc)
    return (acc[0] / acc[1]).item()


def main():
    args = get_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank = dist.get_rank()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if use_cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")

    train_set = SparseDepth(args.samples, seed=0, empty_rate=args.empty_rate)
    val_set = SparseDepth(max(args.samples // 10, 8), seed=1, empty_rate=0.0)
    train_loader = DataLoader(
        train_set, args.batch_size, sampler=DistributedSampler(train_set, drop_last=True),
        num_workers=args.workers, pin_memory=use_cuda, drop_last=True,
    )
    val_loader = DataLoader(
        val_set, args.batch_size, sampler=DistributedSampler(val_set, shuffle=False), num_workers=args.workers
    )

    torch.manual_seed(0)
    model = DepthNet().to(device)
    start = 0
    ckpt = torch.load(args.resume, map_location=device) if args.resume else None
    if ckpt:
        model.load_state_dict(ckpt["model"])
        start = ckpt["epoch"] + 1
    model = DDP(model, device_ids=[local_rank] if use_cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    if ckpt:
        optimizer.load_state_dict(ckpt["optimizer"])

    for epoch in range(start, args.epochs):
        loss, skipped = train_one_epoch(model, train_loader, optimizer, device, args, epoch)
        score = abs_rel(model, val_loader, device)
        if rank == 0:
            log.info("epoch %d: silog %.4f abs_rel %.4f (skipped %d)", epoch, loss, score, skipped)
            torch.save(
                {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, args.save
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
