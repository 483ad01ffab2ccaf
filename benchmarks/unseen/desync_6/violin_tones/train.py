"""Grades of violins by ear (Fabric, with accumulation of gradients)."""

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy
from torch import nn

from tones import GRADES, PARTIALS, Config, workshop


class Ear(nn.Module):
    def __init__(self, width=26):
        super().__init__()
        self.inner = nn.Linear(PARTIALS, width)
        self.outer = nn.Linear(width, GRADES)

    def forward(self, partials):
        return self.outer(torch.relu(self.inner(partials)))


class Lessons:
    def __init__(self, fabric, config):
        self.fabric, self.config = fabric, config
        fabric.seed_everything(31, verbose=False)
        ear = Ear()
        optimizer = torch.optim.SGD(ear.parameters(), lr=config.lr)
        self.model, self.optimizer = fabric.setup(ear, optimizer)
        self.loader = fabric.setup_dataloaders(workshop(fabric.global_rank, config), use_distributed_sampler=False)
        self.rests = 0

    def lesson(self):
        for number, (partials, grade) in enumerate(self.loader):
            if partials.abs().max() < self.config.quietest:
                self.rests += 1
                continue
            complete = (number + 1) % self.config.accumulate == 0
            with self.fabric.no_backward_sync(self.model, enabled=not complete):
                loss = nn.functional.cross_entropy(self.model(partials), grade)
                self.fabric.backward(loss / self.config.accumulate)
            if complete:
                self.optimizer.step()
                self.optimizer.zero_grad()
            if number % 100 == 0:
                self.fabric.print(f"tones {number * self.config.batch}: {loss.item():.3f}", flush=True)


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy=DDPStrategy())
    fabric.launch()
    lessons = Lessons(fabric, Config())
    lessons.lesson()
    fabric.barrier()
    fabric.print(f"the end, {lessons.rests} rests", flush=True)


if __name__ == "__main__":
    main()
