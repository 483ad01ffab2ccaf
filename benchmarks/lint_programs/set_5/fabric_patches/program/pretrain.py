"""Self-supervised pre-training (VICReg) on satellite patches.

    python pretrain.py --patches patches.npy --devices 8 --accum 8
"""
import argparse

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from views import TwoViews


class Net(nn.Module):
    def __init__(self, width=64, dim=512):
        super().__init__()

        def block(cin, cout):
            return nn.Sequential(nn.Conv2d(cin, cout, 3, 2, 1, bias=False), nn.GroupNorm(8, cout), nn.GELU(),
                                 nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.GroupNorm(8, cout), nn.GELU())

        self.backbone = nn.Sequential(block(3, width), block(width, 2 * width), block(2 * width, 4 * width),
                                      nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.projector = nn.Sequential(nn.Linear(4 * width, dim), nn.LayerNorm(dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, a, b):
        z = self.projector(self.backbone(torch.cat([a, b])))
        return z.chunk(2)


def vicreg(a, b, sim=25.0, var=25.0, cov=1.0):
    def variance(z):
        return F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean()

    def covariance(z):
        z = z - z.mean(0)
        c = z.T @ z / (len(z) - 1)
        return (c.pow(2).sum() - c.diagonal().pow(2).sum()) / z.size(1)

    return (sim * F.mse_loss(a, b) + var * (variance(a) + variance(b)) / 2
            + cov * (covariance(a) + covariance(b)) / 2)


def train_epoch(fabric, model, loader, optimizer, scheduler, accum):
    model.train()
    n = len(loader)
    running = torch.zeros((), device=fabric.device)
    for i, (a, b) in enumerate(loader):
        last = (i + 1) % accum == 0 or i + 1 == n
        window = min(accum, n - i // accum * accum)
        loss = vicreg(*model(a, b))
        fabric.backward(loss / window)
        running += loss.detach()
        if last:
            fabric.clip_gradients(model, optimizer, max_norm=5.0)
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
    return fabric.all_reduce(running / n).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--patches", required=True)
    p.add_argument("--size", type=int, default=48)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--workers", type=int, default=6)
    p.add_argument("--devices", type=int, default=8)
    p.add_argument("--accelerator", default="auto")
    p.add_argument("--precision", default="32-true")
    p.add_argument("--out", default="backbone.ckpt")
    args = p.parse_args()

    fabric = L.Fabric(accelerator=args.accelerator, devices=args.devices, strategy="ddp", precision=args.precision)
    fabric.launch()
    fabric.seed_everything(8, workers=True)

    loader = fabric.setup_dataloaders(DataLoader(
        TwoViews(args.patches, args.size), args.batch_size, shuffle=True, drop_last=True, num_workers=args.workers))
    model = Net(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    model, optimizer = fabric.setup(model, optimizer)
    updates = args.epochs * -(-len(loader) // args.accum)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)

    for epoch in range(args.epochs):
        loss = train_epoch(fabric, model, loader, optimizer, scheduler, args.accum)
        fabric.print(f"epoch {epoch} loss {loss:.3f} lr {scheduler.get_last_lr()[0]:.2e}")
        if (epoch + 1) % 10 == 0 or epoch + 1 == args.epochs:
            fabric.save(args.out, {"model": model, "optimizer": optimizer, "epoch": epoch})


if __name__ == "__main__":
    main()
