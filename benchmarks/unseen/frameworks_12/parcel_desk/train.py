"""Questions at a parcel desk: how heavy is it, and how many days will it take? One network for both, with Accelerate."""

import argparse
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from scores import score

TASKS = ["weight", "days"]


@dataclass
class Config:
    parcels: int = 1800
    window: int = 180
    width: int = 12
    batch: int = 20
    epochs: int = 14
    score_every: int = 2
    lr: float = 3e-3
    seed: int = 8


def parcels(count, width, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, width, generator=g)
    task = (torch.arange(count) % 3 == 2).long()
    w = torch.randn(len(TASKS), width, generator=torch.Generator().manual_seed(0))
    y = (x * w[task]).sum(1) / width**0.5 + 0.1 * torch.randn(count, generator=g)
    return x, task, y


class Archive:
    """Parcels of the last weeks; each evaluation takes the week that follows."""

    def __init__(self, config: Config):
        self.size = config.window
        self.x, self.task, self.y = parcels(10 * config.window, config.width, seed=2)
        # before Christmas everyone asks how long it takes
        first = 3 * self.size - 50
        self.task[first : first + 40] = 1

    def week(self, number):
        first = number * self.size
        return list(range(first, first + self.size))


class Desk(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.heads = nn.Linear(48, len(TASKS))

    def forward(self, x, task):
        return self.heads(self.body(x)).gather(1, task[:, None]).squeeze(1)


@torch.no_grad()
def evaluate(accelerator, model, archive, number):
    model.eval()
    with accelerator.split_between_processes(archive.week(number)) as rows:
        task = archive.task[rows]
        predicted = accelerator.unwrap_model(model)(archive.x[rows], task)
        kinds = [TASKS[t] for t in task.tolist()]
        return score(accelerator, kinds, predicted, archive.y[rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Config.epochs)
    parser.add_argument("--score-every", type=int, default=Config.score_every)
    parser.add_argument("--lr", type=float, default=Config.lr)
    config = Config(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    accelerator = Accelerator(cpu=True)
    archive = Archive(config)
    loader = DataLoader(TensorDataset(*parcels(config.parcels, config.width, 1)), config.batch, shuffle=True)
    model = Desk(config.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(config.epochs):
        model.train()
        for x, task, y in loader:
            loss = nn.functional.smooth_l1_loss(model(x, task), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.02)
        if (epoch + 1) % config.score_every == 0:
            week = (epoch + 1) // config.score_every - 1
            found = evaluate(accelerator, model, archive, week)
            accelerator.print(f"epoch {epoch} week {week}", {k: round(v, 3) for k, v in found.items()}, flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
