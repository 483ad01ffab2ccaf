"""Hand keypoint regression.  torchrun --nproc-per-node 2 train.py"""
import argparse
import csv

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from dist_utils import is_main, reduce_dict, setup
from hands import Hands, PoseNet


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--patience", type=int, default=0)
    p.add_argument("--log", default="history.csv")
    p.add_argument("--out", default="pose.pt")
    return p.parse_args()


def train_epoch(model, loader, opt, device):
    model.train()
    losses = []
    for image, joints in loader:
        loss = F.smooth_l1_loss(model(image.to(device)), joints.to(device), beta=0.05)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean()


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    errors, hits = [], []
    for image, joints in loader:
        dist_ = (model(image.to(device)) - joints.to(device)).norm(dim=-1)
        errors.append(dist_.mean())
        hits.append((dist_ < 0.05).float().mean())
    return torch.stack(errors).mean(), torch.stack(hits).mean()


def main():
    args = parse()
    device = setup()
    torch.manual_seed(0)

    # both sizes are multiples of the global batch, nothing is padded
    train, val = Hands(128), Hands(64, offset=10_000)
    train_sampler = DistributedSampler(train, shuffle=True)
    val_sampler = DistributedSampler(val, shuffle=False)
    train_loader = DataLoader(train, args.batch_size, sampler=train_sampler)
    val_loader = DataLoader(val, args.batch_size, sampler=val_sampler)

    model = PoseNet().to(device)
    model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(
        opt, factor=0.5, patience=args.patience, threshold=0.05
    )

    rows, best = [], float("inf")
    for epoch in range(args.epochs):
        train_sampler.set_epoch(epoch)
        loss = train_epoch(model, train_loader, opt, device)
        error, pck = validate(model.module, val_loader, device)
        stats = reduce_dict({"loss": loss, "error": error, "pck": pck})
        sched.step(stats["error"].item())
        if is_main():
            row = {k: round(v.item(), 5) for k, v in stats.items()}
            row.update(epoch=epoch, lr=opt.param_groups[0]["lr"])
            rows.append(row)
            print(row, flush=True)
            if row["error"] < best:
                best = row["error"]
                torch.save(model.module.state_dict(), args.out)

    if is_main():
        with open(args.log, "w", newline="") as f:
            writer = csv.DictWriter(f, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
