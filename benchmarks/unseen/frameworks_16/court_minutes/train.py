"""Subjects of court minutes with Fabric; each process reads the volumes of one court house."""

import argparse
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from minutes import CHARS, SUBJECTS, Minutes, collate

# entries that the clerk left open, by court house
OPEN_ENTRIES = {0: (), 1: (), 2: (700, 1015)}


class SubjectModel(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS) + 2, width, padding_idx=0)
        self.conv = nn.Conv1d(width, 2 * width, 5, padding=2)
        self.head = nn.Linear(2 * width + 1, len(SUBJECTS))

    def forward(self, text, page):
        features = self.conv(self.embed(text).transpose(1, 2)).relu().amax(-1)
        return self.head(torch.cat([features, page[:, None]], 1))


class Meter:
    def __init__(self, fabric, every):
        self.fabric, self.every = fabric, every
        self.sum, self.steps = 0.0, 0

    def update(self, loss):
        self.sum += loss.item()
        self.steps += 1
        if self.steps % self.every == 0:
            mean = self.fabric.all_reduce(torch.tensor(self.sum / self.every), reduce_op="mean")
            self.fabric.print(f"step {self.steps}: {mean:.4f}", flush=True)
            self.sum = 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--courts", type=int, default=3)
    parser.add_argument("--entries", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=args.courts, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(21)
    model = SubjectModel()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=2e-3))
    court = fabric.global_rank
    data = Minutes(court, args.entries, OPEN_ENTRIES[court])
    loader = fabric.setup_dataloaders(
        DataLoader(data, args.batch, collate_fn=collate), use_distributed_sampler=False
    )
    meter = Meter(fabric, every=20)
    for _ in range(args.epochs):
        for text, page, subject in loader:
            loss = nn.functional.cross_entropy(model(text, page), subject)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            meter.update(loss)
            time.sleep(0.03)
    fabric.barrier()


if __name__ == "__main__":
    main()
