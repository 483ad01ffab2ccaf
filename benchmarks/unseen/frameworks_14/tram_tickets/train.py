"""Ride times from tickets, trained where the tickets are: each process has those of one depot (Fabric)."""

import argparse
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from model import Average, Plateau, RideTime
from tickets import LINES, StopIndex, printed


def prepare(fabric, args):
    """Loader of this depot's tickets, and the number of stops that the model has to know."""
    tickets = printed(fabric.global_rank, args.tickets, winter=args.month in (11, 12, 1, 2))
    index = StopIndex(tickets)
    loader = DataLoader(index.encode(tickets), args.batch, shuffle=True, drop_last=True)
    return fabric.setup_dataloaders(loader, use_distributed_sampler=False), len(index)


def train(fabric, args):
    loader, stops = prepare(fabric, args)
    model = RideTime(stops)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = fabric.setup(model, optimizer)
    plateau = Plateau(optimizer)
    for epoch in range(args.epochs):
        mean = Average()
        for pairs, hours, minutes in loader:
            loss = nn.functional.l1_loss(model(pairs, hours), minutes)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            mean.add(loss.item())
            time.sleep(0.02)
        error = fabric.all_reduce(torch.tensor(mean.value), reduce_op="mean").item()
        plateau.step(error)
        fabric.print(f"epoch {epoch}: {error:.2f} minutes", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tickets", type=int, default=900)
    parser.add_argument("--month", type=int, default=12)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=len(LINES), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(17)
    train(fabric, args)


if __name__ == "__main__":
    main()
