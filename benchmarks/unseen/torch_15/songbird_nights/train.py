"""An autoencoder for bird songs, trained at each station on its own nights; the weights are averaged now and then."""
import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader

from recordings import STATIONS, Nights

log = logging.getLogger("songbirds")


class Coder(nn.Module):
    def __init__(self, bands=16, code=4):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(bands, 24), nn.GELU(), nn.Linear(24, code))
        self.decode = nn.Sequential(nn.Linear(code, 24), nn.GELU(), nn.Linear(24, bands))

    def forward(self, x):
        return self.decode(self.encode(x))


class Averager:
    """Local steps, and every `period` of them the mean of all stations' weights."""

    def __init__(self, model, period):
        self.model = model
        self.period = period
        self.steps = 0

    @torch.no_grad()
    def __call__(self):
        self.steps += 1
        if self.steps % self.period:
            return False
        for p in self.model.parameters():
            dist.all_reduce(p.data)
            p.data /= dist.get_world_size()
        return True


def train(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    average = Averager(model, args.period)
    for epoch in range(args.epochs):
        total = 0.0
        for number, windows in enumerate(loader):
            loss = nn.functional.smooth_l1_loss(model(windows), windows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average()
            total += loss.item()
            time.sleep(0.04)
        log.info("epoch %d: %.4f", epoch, total / (number + 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--windows", type=int, default=400)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--period", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    station = list(STATIONS)[int(os.environ["RANK"]) % len(STATIONS)]
    logging.basicConfig(level=logging.INFO, format=station + " %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = Coder()
    loader = DataLoader(Nights(station, args.windows), batch_size=args.batch, num_workers=args.workers)
    train(model, loader, args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
