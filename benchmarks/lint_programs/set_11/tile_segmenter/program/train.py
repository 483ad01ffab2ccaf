import argparse

import torch
from lightning.fabric import Fabric
from torch.nn import functional as F
from torch.utils.data import DataLoader

from net import TileNet
from tiles import Tiles


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--devices", type=int, default=4)
    p.add_argument("--nodes", type=int, default=1)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--accumulate", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--train-tiles", type=int, default=16384)
    p.add_argument("--val-tiles", type=int, default=1024)
    p.add_argument("--out", default="runs/tiles/last.ckpt")
    return p.parse_args()


def train_epoch(fabric, model, optimizer, loader, accumulate):
    model.train()
    last = len(loader) // accumulate * accumulate
    for i, (image, mask) in enumerate(loader, start=1):
        if i > last:
            break
        accumulating = i % accumulate != 0
        logits = model(image)
        loss = F.cross_entropy(logits, mask) / accumulate
        with fabric.no_backward_sync(model, enabled=accumulating):
            fabric.backward(loss)
        if not accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()


@torch.no_grad()
def validate(fabric, model, loader):
    model.eval()
    totals = torch.zeros(2, device=fabric.device)
    for image, mask in loader:
        hits = (model(image).argmax(dim=1) == mask).float()
        totals += torch.stack([hits.sum(), torch.tensor(float(hits.numel()), device=fabric.device)])
    totals = fabric.all_reduce(totals, reduce_op="sum")
    return (totals[0] / totals[1]).item()


def main():
    args = parse()
    fabric = Fabric(accelerator="auto", devices=args.devices, num_nodes=args.nodes, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(args.seed)

    model = TileNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = fabric.setup(model, optimizer)
    train_loader, val_loader = fabric.setup_dataloaders(
        DataLoader(Tiles(args.train_tiles, args.seed), batch_size=args.batch_size, shuffle=True, drop_last=True),
        DataLoader(Tiles(args.val_tiles, args.seed + 1), batch_size=args.batch_size),
    )

    for epoch in range(args.epochs):
        train_epoch(fabric, model, optimizer, train_loader, args.accumulate)
        score = validate(fabric, model, val_loader)
        fabric.print(f"epoch {epoch}: pixel accuracy {score:.4f}")
        fabric.save(args.out, {"model": model, "optimizer": optimizer, "epoch": epoch})


if __name__ == "__main__":
    main()
