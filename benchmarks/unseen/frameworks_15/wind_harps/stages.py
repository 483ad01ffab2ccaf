"""The three parts of the model, and what each of them does besides."""

import pathlib
import threading
import time

import torch
from torch import nn

WIDTH = 32


def part(index, count):
    """One part of the model; all have the same width, the first and the last have a layer more."""
    layers = [nn.Linear(WIDTH, WIDTH), nn.Tanh()]
    if index == 0:
        layers = [nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)] + layers
    if index == count - 1:
        layers.append(nn.Linear(WIDTH, WIDTH))
    return nn.Sequential(*layers)


class WarmStart(nn.Module):
    """Fills its table at the first call, which takes a while."""

    def __init__(self, inner, seconds):
        super().__init__()
        self.inner = inner
        self.seconds = seconds
        self.filled = False

    def forward(self, x):
        if self.training and not self.filled:
            time.sleep(self.seconds)
            self.filled = True
        return self.inner(x)


class Tape:
    """Recordings of a harp in the wind; each reel has to be wound back before it is played."""

    def __init__(self, reels, per_reel, batch, winding):
        self.reels, self.per_reel, self.batch, self.winding = reels, per_reel, batch, winding

    def play(self, wind):
        for reel in range(self.reels):
            if wind:
                time.sleep(self.winding)
            for number in range(self.per_reel):
                g = torch.Generator().manual_seed(1000 * reel + number)
                tone = torch.randn(self.batch, WIDTH, generator=g)
                yield reel, tone, torch.cumsum(tone, 1) / WIDTH**0.5


class Archive:
    """Writes the losses of each reel in a thread; `close` waits until all is written."""

    def __init__(self, path, seconds):
        self.path = pathlib.Path(path)
        self.seconds = seconds
        self.threads = []

    def add(self, reel, losses):
        self.threads.append(threading.Thread(target=self.write, args=(reel, losses)))
        self.threads[-1].start()

    def write(self, reel, losses):
        time.sleep(self.seconds)
        with open(self.path, "a") as out:
            out.write(f"{reel} {sum(losses) / len(losses):.5f}\n")

    def close(self):
        for thread in self.threads:
            thread.join()
        return len(self.threads)
