"""Loss of weight in grain silos with Fabric: a silo for each process, an examination after each season."""

import argparse
import os
import tempfile
import time

import torch
from lightning.fabric import Fabric
from torch import nn

from curves import Curves
from silos import GRAINS, LAYERS, Silo


def build(hidden):
    return nn.Sequential(nn.Linear(LAYERS, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))


class Season:
    def __init__(self, fabric, model, optimizer, silo, curves):
        self.fabric = fabric
        self.model = model
        self.optimizer = optimizer
        self.silo = silo
        self.curves = curves

    def train(self, number):
        for reading in self.silo.season(number):
            if reading.curve is not None:
                self.curves.keep(reading.grain, reading.curve)
            guess = self.model(reading.layers).squeeze(-1)
            loss = nn.functional.mse_loss(guess, reading.loss)
            self.fabric.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            time.sleep(0.03)

    @torch.no_grad()
    def examine(self, number, book):
        """Every silo writes a page for the season's main crop; the first process binds them."""
        grain = GRAINS[(number + 1) % len(GRAINS)]
        curve = self.curves.get(grain)
        reading = next(self.silo.season(number + 100))
        inner = self.model.module
        error = (inner(reading.layers * curve).squeeze(-1) - reading.loss).abs().mean().item()
        with open(os.path.join(book, f"{number:02d}_{self.fabric.global_rank}.txt"), "w") as page:
            page.write(f"{grain} {error:.4f}\n")
        self.fabric.barrier("pages")
        if self.fabric.is_global_zero:
            pages = [name for name in sorted(os.listdir(book)) if name.startswith(f"{number:02d}_")]
            text = [open(os.path.join(book, name)).read().strip() for name in pages]
            print(f"season {number}: {'; '.join(text)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=6)
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(9)
    model = build(args.hidden)
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=args.lr))
    book = os.path.join(tempfile.gettempdir(), f"silos_{os.environ.get('MASTER_PORT', '0')}")
    os.makedirs(book, exist_ok=True)
    silo = Silo(fabric.global_rank, args.batches, args.batch)
    season = Season(fabric, model, optimizer, silo, Curves(fabric, os.path.join(book, "curves")))
    for number in range(args.seasons):
        season.train(number)
        season.examine(number, book)
    if fabric.is_global_zero:
        print("done", flush=True)


if __name__ == "__main__":
    main()
