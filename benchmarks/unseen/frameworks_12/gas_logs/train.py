"""Readings of gas wells, of which only some were checked by hand; gradients are accumulated over batches that have any."""

import argparse
import contextlib
import logging
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger("gas_logs")


class WellLogs(Dataset):
    """Runs of twenty readings; checked readings have a label, others have -1."""

    def __init__(self, runs, seed, unchecked=()):
        g = torch.Generator().manual_seed(seed)
        self.readings = torch.randn(runs, 20, 6, generator=g)
        slope = torch.randn(6, generator=torch.Generator().manual_seed(0))
        self.label = ((self.readings @ slope) > 0).long()
        self.label[torch.rand(runs, 20, generator=g) < 0.5] = -1
        for first, last in unchecked:
            self.label[first:last] = -1

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.readings[i], self.label[i]


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rnn = nn.GRU(6, width, batch_first=True)
        self.out = nn.Linear(width, 2)

    def forward(self, readings):
        hidden, _ = self.rnn(readings)
        return self.out(hidden)


class Accumulation:
    """Steps after every `every` batches with checked readings; batches between two steps stay local."""

    def __init__(self, accelerator, model, optimizer, every):
        self.accelerator = accelerator
        self.model = model
        self.optimizer = optimizer
        self.every = every
        self.filled = 0
        self.steps = 0

    @contextlib.contextmanager
    def batch(self, label):
        self.filled += int((label >= 0).any())
        due = self.filled >= self.every
        with contextlib.nullcontext() if due else self.accelerator.no_sync(self.model):
            yield
        if due:
            self.filled = 0
            self.steps += 1
            self.optimizer.step()
            self.optimizer.zero_grad()


def loss_of(logits, label):
    checked = (label >= 0).sum().clamp_min(1)
    return nn.functional.cross_entropy(logits.flatten(0, 1), label.flatten(), ignore_index=-1, reduction="sum") / checked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1920)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--width", type=int, default=24)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(4)
    accelerator = Accelerator(cpu=True)
    # the checkers were on strike for a day
    loader = DataLoader(WellLogs(args.runs, seed=1, unchecked=[(1192, 1202)]), args.batch)
    model = Reader(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accumulation = Accumulation(accelerator, model, optimizer, args.every)
    for epoch in range(args.epochs):
        total = torch.zeros(1)
        for readings, label in loader:
            with accumulation.batch(label):
                loss = loss_of(model(readings), label)
                accelerator.backward(loss / args.every)
            total += loss.detach()
            time.sleep(0.06)
        mean = accelerator.gather(total / len(loader)).mean().item()
        if accelerator.is_main_process:
            logger.info("epoch %d: %.4f after %d steps", epoch, mean, accumulation.steps)
    accelerator.end_training()


if __name__ == "__main__":
    main()
