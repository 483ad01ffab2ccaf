import argparse
import os

import numpy as np
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from dist_utils import barrier, cleanup, init_distributed, reduce_sum


class DensityNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(),
        )
        self.back = nn.Sequential(
            nn.Conv2d(2 * width, width, 3, padding=2, dilation=2), nn.ReLU(),
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, x):
        return self.back(self.front(x))


def load(path):
    if path:
        archive = np.load(path)
        images, density = archive["images"], archive["density"]
    else:
        rng = np.random.default_rng(3)
        density = (rng.random((160, 1, 16, 16)) < 0.08).astype(np.float32)
        images = density.repeat(2, axis=2).repeat(2, axis=3)
        images = images + 0.3 * rng.standard_normal(images.shape)
    data = TensorDataset(torch.as_tensor(images).float(), torch.as_tensor(density).float())
    split = int(0.8 * len(data))
    return Subset(data, range(split)), Subset(data, range(split, len(data)))


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    totals = torch.zeros(2, device=device)
    for image, density in loader:
        image, density = image.to(device), density.to(device)
        loss = (model(image) - density).pow(2).flatten(1).sum(1).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        totals += torch.stack([loss.detach() * len(image), torch.tensor(float(len(image)), device=device)])
    total, count = reduce_sum(totals).tolist()
    return total / count


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    totals = torch.zeros(3, device=device)
    for image, density in loader:
        image, density = image.to(device), density.to(device)
        diff = model(image).flatten(1).sum(1) - density.flatten(1).sum(1)
        totals[0] += diff.abs().sum()
        totals[1] += diff.pow(2).sum()
        totals[2] += len(image)
    abs_sum, sq_sum, count = reduce_sum(totals).tolist()
    return abs_sum / count, (sq_sum / count) ** 0.5


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data")
    p.add_argument("--out", default="runs/crowd")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--patience", type=int, default=1)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--workers", type=int, default=0)
    args = p.parse_args()

    device, rank, local_rank, world_size = init_distributed()
    torch.manual_seed(args.seed + rank)

    train_set, val_set = load(args.data)
    sampler = DistributedSampler(train_set, world_size, rank, shuffle=True, seed=args.seed, drop_last=True)
    train_loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True,
                              num_workers=args.workers)
    val_shard = Subset(val_set, range(rank, len(val_set), world_size))
    val_loader = DataLoader(val_shard, args.batch_size, num_workers=args.workers)

    model = DensityNet().to(device)
    if world_size > 1:
        model = DDP(model, device_ids=[local_rank] if device.type == "cuda" else None)
    raw = model.module if world_size > 1 else model
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=args.patience, min_lr=1e-6)

    best = float("inf")
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_one_epoch(model, train_loader, optimizer, device)
        mae, rmse = validate(raw, val_loader, device)
        scheduler.step(mae)
        if rank == 0:
            lr = optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch:3d} lr {lr:.2e} loss {loss:.3f} mae {mae:.3f} rmse {rmse:.3f}", flush=True)
            if mae < best:
                best = mae
                os.makedirs(args.out, exist_ok=True)
                torch.save({"model": raw.state_dict(), "epoch": epoch, "mae": mae},
                           os.path.join(args.out, "best.pt"))
        barrier()
    cleanup()


if __name__ == "__main__":
    main()
