"""Classifies stellar spectra with Fabric.

    fabric run --devices 4 --strategy ddp train.py --data spectra.npz
"""
import argparse

import lightning as L
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


class SpectraNet(nn.Module):
    def __init__(self, classes, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, width, 9, stride=2, padding=4), nn.GELU(),
            nn.Conv1d(width, 2 * width, 9, stride=2, padding=4), nn.GELU(),
            nn.Conv1d(2 * width, 2 * width, 9, stride=2, padding=4), nn.GELU(),
            nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(16 * width, classes))

    def forward(self, flux):
        return self.net(flux[:, None])


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--epochs", type=int, default=200)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--target-acc", type=float, default=0.95, help="stop as soon as validation gets here")
    p.add_argument("--precision", default="32-true")
    p.add_argument("--accelerator", default="auto")
    p.add_argument("--devices", type=int, default=2)
    p.add_argument("--ckpt", default="spectra.ckpt")
    return p.parse_args()


def load(path):
    with np.load(path) as z:
        flux, label = torch.from_numpy(z["flux"]).float(), torch.from_numpy(z["label"]).long()
    flux = (flux - flux.mean(1, keepdim=True)) / (flux.std(1, keepdim=True) + 1e-6)
    order = torch.randperm(len(flux), generator=torch.Generator().manual_seed(0))
    cut = int(0.85 * len(flux))
    data = TensorDataset(flux, label)
    return Subset(data, order[:cut].tolist()), Subset(data, order[cut:].tolist()), int(label.max()) + 1


@torch.no_grad()
def validate(fabric, model, loader):
    model.eval()
    correct = torch.zeros((), device=fabric.device)
    for flux, label in loader:
        correct += (model(flux).argmax(1) == label).sum()
    return fabric.all_reduce(correct).item()


def main():
    args = parse()
    fabric = L.Fabric(accelerator=args.accelerator, devices=args.devices, strategy="ddp", precision=args.precision)
    fabric.launch()
    fabric.seed_everything(2)

    train_set, val_set, classes = load(args.data)
    mine = Subset(val_set, range(fabric.global_rank, len(val_set), fabric.world_size))
    train_loader = fabric.setup_dataloaders(DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True))
    val_loader = fabric.setup_dataloaders(DataLoader(mine, args.batch_size), use_distributed_sampler=False)

    model = SpectraNet(classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = fabric.setup(model, optimizer)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        for flux, label in train_loader:
            loss = F.cross_entropy(model(flux), label)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
        acc = validate(fabric, model, val_loader) / len(val_set)
        fabric.print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.4f}")
        if acc > best:
            best = acc
            fabric.save(args.ckpt, {"model": model, "optimizer": optimizer, "epoch": epoch, "acc": acc})
        if acc >= args.target_acc:
            break


if __name__ == "__main__":
    main()
