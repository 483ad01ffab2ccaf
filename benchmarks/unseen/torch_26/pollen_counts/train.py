"""Pollen of tomorrow from the weather of the last days, one station per process."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

from meters import Ledger, station_logger


def station(rank, days=2400):
    g = torch.Generator().manual_seed(30 + rank)
    weather = torch.randn(days, 4, 3, generator=g)
    birch = (weather[:, -1, 0] - 0.5 * weather[:, -1, 1]).clamp(min=0)
    grass = (weather[:, :, 2].mean(1) + 0.2 * rank).exp()
    return TensorDataset(weather.flatten(1), torch.stack([birch, grass], 1).log1p())


class Forecaster(nn.Module):
    def __init__(self, inputs=12, width=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.trunk(x))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.log = station_logger("pollen", self.rank)
        torch.manual_seed(0)
        self.model = DDP(Forecaster())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.loader = DataLoader(station(self.rank), batch_size=args.batch, shuffle=True, drop_last=True)
        self.ledger = Ledger("birch", "grass")
        self.step = 0

    def train_step(self, weather, counts):
        error = (self.model(weather) - counts).square().mean(0)
        self.optimizer.zero_grad(set_to_none=True)
        error.sum().backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        birch, grass = error.detach()
        self.ledger.add(len(weather), birch=birch, grass=grass)
        time.sleep(0.04)

    def fit(self):
        for epoch in range(self.args.epochs):
            for weather, counts in self.loader:
                self.train_step(weather, counts)
                self.step += 1
                if self.step % self.args.log_every == 0:
                    self.log.info("step %d: %s", self.step, self.ledger)
                    self.ledger.reset()
            self.log.info("epoch %d is over after %d steps", epoch, self.step)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--log-every", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
