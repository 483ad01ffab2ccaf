import argparse
import json
import pathlib

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import ReduceLROnPlateau

from data import make_loaders
from dist_utils import is_main, setup, weighted_mean


def parse_args():
    p = argparse.ArgumentParser(description="Surrogate model of the flow solver")
    p.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/surrogate"))
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--train-size", type=int, default=4096)
    p.add_argument("--val-size", type=int, default=512)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def build_model(width=128):
    return nn.Sequential(
        nn.Linear(16, width), nn.SiLU(),
        nn.Linear(width, width), nn.SiLU(),
        nn.Linear(width, width), nn.SiLU(),
        nn.Linear(width, 1), nn.Flatten(0),
    )


class Trainer:
    def __init__(self, args, device):
        self.args, self.device = args, device
        torch.manual_seed(args.seed)
        model = build_model().to(device)
        self.model = DistributedDataParallel(
            model, device_ids=[device.index] if device.type == "cuda" else None
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.scheduler = ReduceLROnPlateau(
            self.optimizer, factor=0.5, patience=args.patience, threshold=1e-3
        )
        self.train_loader, self.val_loader = make_loaders(args)
        self.best = float("inf")

    def train_epoch(self, epoch):
        self.model.train()
        self.train_loader.sampler.set_epoch(epoch)
        total, count = 0.0, 0
        for x, y in self.train_loader:
            x, y = x.to(self.device), y.to(self.device)
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        return weighted_mean(total, count, self.device)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total, count = 0.0, 0
        for x, y in self.val_loader:
            pred = self.model(x.to(self.device))
            total += nn.functional.mse_loss(pred, y.to(self.device), reduction="sum").item()
            count += len(y)
        return weighted_mean(total, count, self.device)

    def save(self, epoch, val_loss):
        if not is_main() or val_loss >= self.best:
            return
        self.best = val_loss
        torch.save(
            {
                "model": self.model.module.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "epoch": epoch,
            },
            self.args.out / "best.pt",
        )

    def fit(self):
        history = []
        for epoch in range(self.args.epochs):
            train_loss = self.train_epoch(epoch)
            val_loss = self.validate()
            self.scheduler.step(val_loss)
            self.save(epoch, val_loss)
            lr = self.optimizer.param_groups[0]["lr"]
            history.append({"epoch": epoch, "train": train_loss, "val": val_loss, "lr": lr})
            if is_main():
                print(f"[{epoch:03d}] train {train_loss:.4f} val {val_loss:.4f} lr {lr:.2e}", flush=True)
        if is_main():
            (self.args.out / "history.json").write_text(json.dumps(history, indent=1))


def main():
    args = parse_args()
    device = setup()
    if is_main():
        args.out.mkdir(parents=True, exist_ok=True)
    dist.barrier()
    Trainer(args, device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
