"""Dates the layers of peat cores with a transformer sharded over the processes (FSDP2)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from hooks import default_hooks
from model import sharded

PROXIES, LAYERS = 9, 24


def cores(count, seed):
    """Proxies of the layers of cores and their ages: growth varies, ash marks known eruptions."""
    g = torch.Generator().manual_seed(seed)
    growth = 0.4 + torch.rand(count, LAYERS, generator=g)
    age = growth.cumsum(1) / LAYERS
    proxies = torch.randn(count, LAYERS, PROXIES, generator=g) * 0.3
    proxies[..., 0] += 1.0 / growth
    proxies[..., 1] += torch.sin(9.0 * age)
    proxies[..., 2] += ((age - 0.55).abs() < 0.03).float()
    return proxies, age


class Trainer:
    def __init__(self, args, rank, world):
        self.args = args
        self.world = world
        self.model = sharded(PROXIES, world)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.proxies, self.age = cores(args.cores, seed=30 + rank)
        self.order = torch.Generator().manual_seed(rank)
        self.hooks = default_hooks(rank, args.spectra_every)
        self.record = {}

    def batches(self):
        for pick in torch.randperm(len(self.age), generator=self.order).split(self.args.batch):
            yield self.proxies[pick], self.age[pick]

    def epoch(self):
        total, steps = 0.0, 0
        for proxies, age in self.batches():
            loss = nn.functional.mse_loss(self.model(proxies), age)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            total, steps = total + loss.item(), steps + 1
            time.sleep(0.03)
        return total / steps

    def fit(self):
        for epoch in range(self.args.epochs):
            self.record["loss"] = round(self.epoch(), 5)
            for hook in self.hooks:
                hook.end_epoch(self, epoch)
            self.anneal(epoch)
            dist.barrier()

    def anneal(self, epoch):
        for group in self.optimizer.param_groups:
            group["lr"] = self.args.lr * 0.5 * (1.0 + (1.0 - epoch / self.args.epochs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--cores", type=int, default=320)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--spectra-every", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(args, dist.get_rank(), dist.get_world_size()).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
