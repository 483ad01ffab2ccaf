"""Predicts the charge of a blast from the velocities at twelve gauges (Accelerate)."""

import argparse
import logging
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from archive import GAUGES, Archive


@dataclass
class Config:
    shots: int
    batch: int
    epochs: int
    lr: float


class ChargeNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(GAUGES, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.head = nn.Linear(hidden, 1)

    def forward(self, velocity):
        return self.head(self.body(velocity)).squeeze(-1)


def fit(accelerator, config, inputs, targets):
    model = ChargeNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    for epoch in range(config.epochs):
        order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(epoch))
        total = torch.zeros(())
        batches = order.split(config.batch)
        for rows in batches:
            loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            time.sleep(0.02)
        mean = accelerator.reduce(total / len(batches), "mean")
        accelerator.print(f"epoch {epoch}: {mean.item():.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shots", type=int, default=600)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=2e-3)
    config = Config(**vars(parser.parse_args()))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    set_seed(5)
    accelerator = Accelerator(cpu=True)
    inputs, targets = Archive(accelerator, config.shots).prepare()
    fit(accelerator, config, inputs, targets)
    accelerator.end_training()


if __name__ == "__main__":
    main()
