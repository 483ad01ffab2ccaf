"""Two networks of the same shape: one learns from all labels, its twin from those that were confirmed."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP

from flowers import FEATURES, SPECIES, greenhouse


def network(seed):
    torch.manual_seed(seed)
    return DDP(nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, SPECIES)))


class Twins:
    def __init__(self, config):
        self.config = config
        self.everyday, self.strict = network(10), network(11)
        self.optimizers = [torch.optim.SGD(m.parameters(), config.lr) for m in (self.everyday, self.strict)]
        self.agreement = []

    def everyday_step(self, picture, species):
        loss = cross_entropy(self.everyday(picture), species)
        self.optimizers[0].zero_grad()
        loss.backward()
        self.optimizers[0].step()
        return loss.item()

    def strict_step(self, picture, species):
        strict_loss = cross_entropy(self.strict(picture), species)
        self.optimizers[1].zero_grad()
        strict_loss.backward()
        self.optimizers[1].step()
        return strict_loss.item()

    def compare(self, picture):
        with torch.no_grad():
            first = self.everyday.module(picture).argmax(1)
            second = self.strict.module(picture).argmax(1)
        self.agreement.append((first == second).float().mean().item())

    def fit(self, loader):
        start = time.monotonic()
        for number, (picture, species, votes) in enumerate(loader):
            loss = self.everyday_step(picture, species)
            confirmed = votes >= 2
            if not confirmed.any():
                continue
            strict = self.strict_step(picture[confirmed], species[confirmed])
            self.compare(picture)
            if number % 50 == 0 and dist.get_rank() == 0:
                spent = time.monotonic() - start
                print(f"{spent:5.1f} s, batch {number}: {loss:.3f} {strict:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=320)
    parser.add_argument("--batch-size", type=int, default=9)
    parser.add_argument("--lr", type=float, default=0.03)
    config = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    twins = Twins(config)
    twins.fit(greenhouse(dist.get_rank(), config))
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"agreement {sum(twins.agreement[-50:]) / 50:.2f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
