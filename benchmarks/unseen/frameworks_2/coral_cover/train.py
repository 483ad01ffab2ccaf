"""Estimate the share of live coral on reef tiles (Accelerate)."""
import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from reefboard import ReefBoard


class TileEncoder(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        )
        self.cover = nn.Linear(width, 1)

    def forward(self, tiles):
        return self.cover(self.stem(tiles).mean(dim=(2, 3))).squeeze(1)


def reef_tiles(count, seed):
    gen = torch.Generator().manual_seed(seed)
    tiles = torch.rand(count, 3, 24, 24, generator=gen)
    return TensorDataset(tiles, tiles[:, 0].mean(dim=(1, 2)))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--preview-every", type=int, default=14)
    return p.parse_args()


def main():
    args = parse()
    accelerator = Accelerator(cpu=True)
    set_seed(11)
    train_loader = DataLoader(reef_tiles(480, 1), batch_size=args.batch_size, shuffle=True)
    survey_loader = DataLoader(reef_tiles(32, 2), batch_size=16)
    model = TileEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)
    board = ReefBoard(accelerator, survey_loader, every=args.preview_every)

    step = 0
    for epoch in range(args.epochs):
        model.train()
        for tiles, cover in train_loader:
            loss = nn.functional.mse_loss(model(tiles), cover)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.02)
            step += 1
            board.after_step(model, step, loss)
        accelerator.print(f"epoch {epoch} done, loss {loss.item():.4f}")
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), "/tmp/coral_cover.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()
