"""Lichen cover on map sheets of a rocky coast, with Accelerate."""

import argparse
import logging
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from survey import CLASSES, SIDE, read_survey


@dataclass
class Settings:
    sheets: int = 7
    tiles: int = 400
    draw: int = 960
    batch: int = 16
    epochs: int = 3
    lr: float = 1e-3
    folder: str = ""


def parse():
    defaults = Settings()
    parser = argparse.ArgumentParser()
    for name, value in vars(defaults).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    settings = Settings(**vars(parser.parse_args()))
    if not settings.folder:
        job = os.environ.get("MASTER_PORT", "0")
        settings.folder = str(Path(tempfile.gettempdir()) / f"lichen_{job}")
    Path(settings.folder).mkdir(parents=True, exist_ok=True)
    return settings


class Cover(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Linear(8 * (SIDE // 2) ** 2, CLASSES)

    def forward(self, pixels):
        return self.head(self.body(pixels.view(-1, 1, SIDE, SIDE)))


def train(accelerator, settings, data):
    model = Cover()
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    loader = DataLoader(data, settings.batch, shuffle=True, drop_last=True)
    for epoch in range(settings.epochs):
        total = 0.0
        for pixels, kinds in loader:
            loss = nn.functional.cross_entropy(model(pixels), kinds)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
            time.sleep(0.02)
        mean = accelerator.reduce(torch.tensor(total / len(loader)), "mean")
        accelerator.print(f"epoch {epoch}: {mean.item():.4f}", flush=True)


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    settings = parse()
    torch.set_num_threads(1)
    set_seed(24)
    accelerator = Accelerator(cpu=True)
    data = read_survey(accelerator, settings.sheets, settings.folder, settings.tiles, settings.draw)
    accelerator.wait_for_everyone()
    accelerator.print(f"{settings.sheets} sheets read", flush=True)
    train(accelerator, settings, data)
    accelerator.end_training()


if __name__ == "__main__":
    main()
