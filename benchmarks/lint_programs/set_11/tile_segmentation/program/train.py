"""Water in satellite tiles; tiles are large, so one per GPU.

    torchrun --nproc-per-node 8 train.py --root /data/tiles
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset

from engine import Engine
from tiles import Tiles, collate_good, synthesise


def network(width=16):
    return nn.Sequential(
        nn.Conv2d(4, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
        nn.Conv2d(width, 2, 1),
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="tiles_cache")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=1)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--out", default="water.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(0)

    if rank == 0:
        synthesise(args.root)
    dist.barrier()

    train, val = Tiles(args.root, range(32)), Tiles(args.root, range(32, 40))
    sampler = DistributedSampler(train, shuffle=True, drop_last=True)
    common = dict(batch_size=args.batch_size, num_workers=args.workers, collate_fn=collate_good, pin_memory=cuda)
    loader = DataLoader(train, sampler=sampler, drop_last=True, **common)
    val_loader = DataLoader(Subset(val, range(rank, len(val), world)), **common)

    model = DDP(network().to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    engine = Engine(model, opt, sched, device)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = engine.train_epoch(loader)
        iou = engine.iou(val_loader)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f} iou {iou:.4f}", flush=True)
            torch.save(model.module.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
