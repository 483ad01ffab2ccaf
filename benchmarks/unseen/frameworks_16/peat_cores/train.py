"""Dominant pollen taxon of slices of peat cores, with Accelerate."""

import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from splits import PROXIES, TAXA, Splits


class Palynologist(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(PROXIES, width), nn.GELU(), nn.LayerNorm(width))
        self.head = nn.Linear(width, TAXA)

    def forward(self, proxies):
        return self.head(self.body(proxies))


def train_epoch(accelerator, model, optimizer, loader):
    model.train()
    total = 0.0
    for proxies, taxa in loader:
        loss = nn.functional.cross_entropy(model(proxies), taxa)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
        time.sleep(0.01)
    return accelerator.reduce(torch.tensor(total / len(loader)), "mean").item()


@torch.no_grad()
def accuracy(accelerator, model, loader):
    model.eval()
    right = []
    for proxies, taxa in loader:
        right.append(accelerator.gather_for_metrics((model(proxies).argmax(-1) == taxa).float()))
    return torch.cat(right).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slices", type=int, default=2400)
    parser.add_argument("--held-out", type=int, default=480)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(7)
    accelerator = Accelerator(cpu=True)
    splits = Splits(accelerator)
    loader = DataLoader(splits.training(args.slices), args.batch, shuffle=True)
    model = Palynologist(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        loss = train_epoch(accelerator, model, optimizer, loader)
        accelerator.print(f"epoch {epoch}: loss {loss:.4f}", flush=True)
    # the held-out cores are exported once, by the main process
    with accelerator.main_process_first():
        held_out = splits.stored("held_out", args.held_out, seed=2)
    held_out = accelerator.prepare(DataLoader(held_out, args.batch))
    accelerator.print(f"accuracy {accuracy(accelerator, model, held_out):.3f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
