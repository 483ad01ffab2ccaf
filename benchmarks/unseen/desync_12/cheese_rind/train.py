"""The age of a cheese from the colours of its rind; Fabric, with accumulated gradients."""

import argparse

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from lots import COLOURS, Cellar
from window import Window

LARGER_LOTS = {(1, 7): 25}


class AgeModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(COLOURS, width)
        self.second = nn.Linear(width, 1)

    def forward(self, rind):
        return self.second(torch.tanh(self.first(rind)))


def train(fabric, model, optimizer, loader, window):
    for index, (lot, rind, age) in enumerate(loader):
        goes_on = window.enter(lot)
        with fabric.no_backward_sync(model, enabled=goes_on):
            loss = nn.functional.mse_loss(model(rind), age) * window.scale()
            fabric.backward(loss)
        if not goes_on:
            optimizer.step()
            optimizer.zero_grad()
            window.close()
        if index % 120 == 0:
            fabric.print(f"batch {index}, lot {lot}: {loss.item() / window.scale():.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=720)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--window", type=int, default=2)
    parser.add_argument("--width", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(8, verbose=False)
    model = AgeModel(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = fabric.setup(model, optimizer)
    cellar = Cellar(fabric.global_rank, args.batches, args.batch_size, LARGER_LOTS)
    loader = fabric.setup_dataloaders(DataLoader(cellar, batch_size=None), use_distributed_sampler=False)
    window = Window(args.window)
    train(fabric, model, optimizer, loader, window)
    fabric.barrier()
    print(f"cellar {fabric.global_rank}: {window}", flush=True)


if __name__ == "__main__":
    main()
