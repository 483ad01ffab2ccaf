import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, Dataset


class Keywords(Dataset):
    """Synthetic one second clips: a chirp per class plus noise."""

    def __init__(self, n, classes, seed):
        self.n, self.classes, self.seed = n, classes, seed
        self.t = torch.linspace(0, 1, 4000)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_000 + i)
        y = int(torch.randint(self.classes, (1,), generator=g))
        f = 60 + 40 * y
        wav = torch.sin(2 * math.pi * (f * self.t + 20 * self.t ** 2)) + 0.5 * torch.randn(4000, generator=g)
        return wav, y


class KwsNet(nn.Module):
    def __init__(self, classes, dim=64):
        super().__init__()
        self.front = nn.Conv1d(1, dim, 64, stride=16)
        self.body = nn.Sequential(*[
            nn.Sequential(nn.GroupNorm(8, dim), nn.ReLU(), nn.Conv1d(dim, dim, 5, stride=2, padding=2))
            for _ in range(3)
        ])
        self.head = nn.Linear(dim, classes)

    def forward(self, wav):
        return self.head(self.body(self.front(wav[:, None])).mean(-1))


@torch.no_grad()
def evaluate(fabric, model, loader):
    model.eval()
    stats = torch.zeros(2, device=fabric.device)
    for wav, y in loader:
        stats[0] += (model(wav).argmax(-1) == y).sum()
        stats[1] += y.numel()
    model.train()
    stats = fabric.all_reduce(stats, reduce_op="sum")
    return (stats[0] / stats[1]).item()


def train(fabric, args):
    fabric.seed_everything(args.seed, workers=True)
    with fabric.init_module():
        model = KwsNet(args.classes)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, opt = fabric.setup(model, opt)

    train_loader = DataLoader(Keywords(args.num_train, args.classes, 0), args.batch_size, shuffle=True,
                              drop_last=True, num_workers=args.workers)
    # size is a multiple of the device counts we use, so no padding
    val_loader = DataLoader(Keywords(args.num_val, args.classes, 1), args.batch_size, num_workers=args.workers)
    train_loader, val_loader = fabric.setup_dataloaders(train_loader, val_loader)

    for epoch in range(args.epochs):
        if hasattr(train_loader.sampler, "set_epoch"):
            train_loader.sampler.set_epoch(epoch)
        usable = len(train_loader) // args.accum * args.accum
        for i, (wav, y) in enumerate(train_loader):
            if i >= usable:
                break
            is_accumulating = (i + 1) % args.accum != 0
            with fabric.no_backward_sync(model, enabled=not is_accumulating):
                loss = F.cross_entropy(model(wav), y) / args.accum
                fabric.backward(loss)
            if not is_accumulating:
                fabric.clip_gradients(model, opt, max_norm=1.0)
                opt.step()
                opt.zero_grad()
        acc = evaluate(fabric, model, val_loader)
        fabric.print(f"epoch {epoch} val acc {acc:.4f}")
        fabric.save(f"{args.out}/last.ckpt", {"model": model, "opt": opt, "epoch": epoch})


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--accelerator", default="auto")
    ap.add_argument("--devices", type=int, default=4)
    ap.add_argument("--classes", type=int, default=12)
    ap.add_argument("--num-train", type=int, default=20_000)
    ap.add_argument("--num-val", type=int, default=1_920)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=3)
    ap.add_argument("--out", default="runs/kws")
    args = ap.parse_args()

    fabric = Fabric(accelerator=args.accelerator, devices=args.devices, strategy="ddp" if args.devices > 1 else "auto")
    fabric.launch()
    train(fabric, args)


if __name__ == "__main__":
    main()
