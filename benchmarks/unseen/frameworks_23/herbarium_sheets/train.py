"""Plant families from leaf traits, on the sheets of a herbarium that are digitized at the start of the job."""

import argparse
import logging

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from intake import FAMILIES, TRAITS, Intake


def build(width):
    return nn.Sequential(nn.Linear(TRAITS, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, FAMILIES))


def fit(accelerator, model, optimizer, loader, epochs):
    for epoch in range(epochs):
        right = torch.zeros(2)
        for traits, family in loader:
            logits = model(traits)
            loss = nn.functional.cross_entropy(logits, family)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            right += torch.tensor([(logits.argmax(-1) == family).sum().item(), len(family)])
        right = accelerator.reduce(right, "sum")
        accelerator.print(f"epoch {epoch}: {right[0] / right[1]:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--drawers", type=int, default=36)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    set_seed(5)
    accelerator = Accelerator(cpu=True)
    traits, families = Intake(accelerator, args.drawers, seed=5).run()
    # every process keeps the sheets that it has digitized itself
    loader = DataLoader(TensorDataset(traits, families), args.batch, shuffle=True)
    model = build(args.width)
    model = accelerator.prepare(model)
    optimizer = accelerator.prepare(torch.optim.AdamW(model.parameters(), lr=args.lr))
    fit(accelerator, model, optimizer, loader, args.epochs)
    accelerator.end_training()


if __name__ == "__main__":
    main()
