"""Firmness of cheese wheels after three months, from their culture and the climate of the cellar."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from features import WheelFeatures, known_cultures, wheels

log = logging.getLogger("cheese")


class FirmnessModel(nn.Module):
    def __init__(self, cultures, width):
        super().__init__()
        self.culture = nn.Embedding(cultures, width)
        self.climate = nn.Linear(4, width)
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(width, 1))

    def forward(self, culture, climate):
        return self.out(self.culture(culture) + self.climate(climate)).squeeze(1)


def batches(records, size, collate):
    pending = []
    for record in records:
        pending.append(record)
        if len(pending) == size:
            yield collate(pending)
            pending = []


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        cultures = known_cultures()
        self.features = WheelFeatures(cultures)
        torch.manual_seed(3)
        self.model = DDP(FirmnessModel(len(cultures), args.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=2, gamma=0.5)

    def train_epoch(self):
        total, steps = 0.0, 0
        for culture, climate, firmness in batches(wheels(self.rank, self.args.wheels), self.args.batch, self.features):
            predicted = self.model(culture, climate)
            loss = nn.functional.mse_loss(predicted, firmness)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
            steps += 1
            time.sleep(0.02)
        return total / steps

    def fit(self):
        for epoch in range(self.args.epochs):
            loss = self.train_epoch()
            self.scheduler.step()
            if self.rank == 0:
                log.info("epoch %d loss %.4f", epoch, loss)
            dist.barrier()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheels", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(options).fit()
    dist.destroy_process_group()
