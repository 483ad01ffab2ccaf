"""Predicts the drift of weather balloons from the layers of wind that they cross (Fabric)."""

import argparse
import os
import tempfile
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from recorder import NoRecorder, Recorder

LAYERS = 24


def flights(count, seed):
    """Wind in each layer (two components) and the place where the balloon comes down."""
    g = torch.Generator().manual_seed(seed)
    wind = torch.randn(count, LAYERS, 2, generator=g).cumsum(1) / LAYERS**0.5
    climb = torch.linspace(1.0, 0.3, LAYERS)[None, :, None]
    place = (wind * climb).sum(1) + 0.2 * torch.randn(count, 2, generator=g)
    return TensorDataset(wind.flatten(1), place)


def make_model():
    return nn.Sequential(nn.Linear(2 * LAYERS, 64), nn.Tanh(), nn.Linear(64, 2))


class Drift:
    def __init__(self, fabric, args):
        self.fabric = fabric
        self.epochs = args.epochs
        model = make_model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        loader = DataLoader(flights(args.flights, seed=1), args.batch, shuffle=True, drop_last=True)
        self.loader = fabric.setup_dataloaders(loader)
        self.reference, self.landed = flights(40, seed=2).tensors
        if fabric.is_global_zero:
            path = os.path.join(tempfile.gettempdir(), f"drift_{os.getpid()}.csv")
            names = [f"{axis}{i}" for i in range(len(self.reference)) for axis in "xy"]
            self.recorder = Recorder(path, names)
        else:
            self.recorder = NoRecorder()

    @torch.no_grad()
    def remember(self):
        """The predictions for the flights of reference, to see them move during the training."""
        predicted = self.model.module(self.reference)
        self.recorder.add(predicted.flatten())

    def step(self, wind, place):
        loss = nn.functional.mse_loss(self.model(wind), place)
        self.fabric.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def fit(self):
        for epoch in range(self.epochs):
            total = 0.0
            for wind, place in self.loader:
                total += self.step(wind, place)
                self.remember()
                time.sleep(0.005)
            mean = self.fabric.all_reduce(torch.tensor(total / len(self.loader)), reduce_op="mean")
            self.fabric.print(f"epoch {epoch}: {mean.item():.4f}", flush=True)
        size = self.recorder.close()
        self.fabric.print(f"recorded {size} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flights", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(31)
    Drift(fabric, args).fit()
    fabric.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
