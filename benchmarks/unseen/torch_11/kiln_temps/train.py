"""Forecast of the temperature in a brick kiln from the readings of its burners."""

import argparse
import logging
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from guard import SpikeGuard

log = logging.getLogger("kiln")


def readings(count, burners, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, burners, generator=g)
    y = x @ torch.linspace(-1, 1, burners).unsqueeze(1) + 0.2 * torch.randn(count, 1, generator=g)
    # a thermocouple that was unplugged reads the end of its scale
    y[count // 3] = 200.0
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, args, folder):
        self.args = args
        self.rank = dist.get_rank()
        data = readings(args.samples, args.burners, seed=21)
        self.sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
        self.loader = DataLoader(data, args.batch, sampler=self.sampler, drop_last=True)
        torch.manual_seed(args.seed)
        network = nn.Sequential(nn.Linear(args.burners, 64), nn.Tanh(), nn.Linear(64, 1))
        self.model = DDP(network)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.guard = SpikeGuard()
        self.path = os.path.join(folder, "kiln.pt")
        self.step = 0

    def save(self):
        if self.rank == 0:
            state = {"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save(state, self.path)
        dist.barrier()

    def restore(self):
        dist.barrier()
        state = torch.load(self.path)
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        log.info("rank %d: back to the last snapshot at step %d", self.rank, self.step)

    def train_step(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        if self.guard.check(loss.item()):
            self.restore()
            return
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def fit(self):
        self.save()
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.train_step(x, y)
                self.step += 1
                if self.step % self.args.snapshot == 0:
                    self.save()
                time.sleep(0.03)
            if self.rank == 0:
                log.info("epoch %d running loss %.4f", epoch, self.guard.mean)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1920)
    parser.add_argument("--burners", type=int, default=14)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--snapshot", type=int, default=50)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as folder:
        Trainer(args, folder).fit()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
