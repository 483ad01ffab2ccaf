"""Estimates how far a string of a violin is out of tune, from a short bow stroke (Accelerate)."""

import argparse
import logging
import math
import time

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.utils.data import DataLoader, Dataset

from gauge import Gauge

STRINGS = {"G": 196.0, "D": 293.7, "A": 440.0, "E": 659.3}
RATE = 8000
LENGTH = 256


class Strokes(Dataset):
    """Strokes on the four strings; the label is the detuning in units of half a semitone."""

    def __init__(self, count, seed):
        self.count = count
        self.seed = seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        base = list(STRINGS.values())[i % 4]
        detuning = 2 * torch.rand((), generator=g) - 1
        pitch = base * 2 ** (detuning / 24)
        phase = 2 * math.pi * pitch * torch.arange(LENGTH) / RATE
        wave = sum(torch.sin(k * phase) / k for k in range(1, 4))
        return wave + 0.1 * torch.randn(LENGTH, generator=g), detuning


class Tuner(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, channels, 15, stride=4),
            nn.GELU(),
            nn.Conv1d(channels, channels, 9, stride=4),
            nn.GELU(),
        )
        self.head = nn.LazyLinear(1)

    def forward(self, wave):
        return self.head(self.conv(wave[:, None]).flatten(1)).squeeze(-1)


def run_epoch(accelerator, model, optimizer, loader, gauge):
    """One epoch over all strokes.

    The last round of batches does not come out even: nothing is padded and nothing is thrown away.
    """
    with Join([model]):
        for wave, detuning in loader:
            loss = nn.functional.mse_loss(model(wave), detuning)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            gauge.push(loss)
            time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strokes", type=int, default=1432)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    set_seed(40)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(even_batches=False))
    model = Tuner()
    model(torch.zeros(1, LENGTH))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(Strokes(args.strokes, seed=1), args.batch, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    gauge = Gauge(accelerator, "error")
    for epoch in range(args.epochs):
        run_epoch(accelerator, model, optimizer, loader, gauge)
        accelerator.print(f"epoch {epoch}: {gauge.mean:.4f}", flush=True)
        if gauge.settled():
            break
    accelerator.end_training()


if __name__ == "__main__":
    main()
