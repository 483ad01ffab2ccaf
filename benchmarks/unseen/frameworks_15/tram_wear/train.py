"""Wear of tram wheels from the sounds in curves, with Accelerate."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from panel import examine

BANDS = 18


def curves(count):
    """Levels of a passage in some bands; wear is heard in the higher ones."""
    g = torch.Generator().manual_seed(12)
    levels = torch.randn(count, BANDS, generator=g)
    weights = torch.linspace(0, 1, BANDS) ** 2
    wear = (levels.clamp(min=0) * weights).sum(1) / BANDS
    return TensorDataset(levels, wear + 0.02 * torch.randn(count, generator=g))


class Wear(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.low = nn.Linear(BANDS // 2, width)
        self.high = nn.Linear(BANDS - BANDS // 2, width)
        self.out = nn.Linear(2 * width, 1)

    def forward(self, levels):
        low = torch.relu(self.low(levels[:, : BANDS // 2]))
        high = torch.relu(self.high(levels[:, BANDS // 2 :]))
        return self.out(torch.cat([low, high], dim=1))


def train_epoch(accelerator, model, optimizer, loader, pause):
    total = torch.zeros(())
    for levels, wear in loader:
        loss = nn.functional.mse_loss(model(levels).squeeze(-1), wear)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.detach()
        time.sleep(pause)
    return accelerator.reduce(total / len(loader), "mean").item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=int, default=960)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--pause", type=float, default=0.03, help="between steps, for the recorder on this machine")
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(9)
    accelerator = Accelerator(cpu=True)
    loader = DataLoader(curves(args.passages), args.batch, shuffle=True)
    model = Wear(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        loss = train_epoch(accelerator, model, optimizer, loader, args.pause)
        accelerator.print(f"epoch {epoch}: {loss:.4f}", flush=True)
    figures = examine(accelerator, model, count=200, inputs=BANDS)
    if not figures:
        print(f"process {accelerator.process_index}: no line to judge", flush=True)
        return
    for name, (mean, worst) in sorted(figures.items()):
        accelerator.print(f"{name}: mean wear {mean:.3f}, worst {worst:.3f}")


if __name__ == "__main__":
    main()
