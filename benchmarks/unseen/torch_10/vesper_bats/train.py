"""Bat species from spectra of their calls; one recording site per rank."""

import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from recordings import BatCalls, announce


@dataclass
class Settings:
    calls: int = 360
    bins: int = 32
    batch_size: int = 12
    workers: int = 2
    epochs: int = 3
    lr: float = 1e-2
    clip: float = 1.0


class GuardedSGD(torch.optim.SGD):
    """Leaves out updates whose gradient is far from the usual."""

    def __init__(self, params, lr, clip):
        super().__init__(params, lr=lr, momentum=0.9)
        self.clip = clip
        self.left_out = 0

    @torch.no_grad()
    def step(self, closure=None):
        gradients = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = torch.stack([g.norm() for g in gradients]).norm()
        if norm > self.clip:
            self.left_out += 1
            return None
        return super().step(closure)


def accuracy(model, loader):
    hits = torch.zeros(2)
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            hits += torch.tensor([(model.module(x).argmax(1) == y).sum(), len(y)])
    model.train()
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def main():
    cfg = Settings()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    site = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(cfg.bins, 48), nn.ReLU(), nn.Linear(48, 4)))
    optimizer = GuardedSGD(model.parameters(), cfg.lr, cfg.clip)
    data = BatCalls(site, cfg.calls, cfg.bins)
    # the workers are started again in every epoch
    loader = DataLoader(data, cfg.batch_size, shuffle=True, num_workers=cfg.workers, worker_init_fn=announce)
    held_out = DataLoader(BatCalls(site, 48, cfg.bins), batch_size=24)
    for epoch in range(cfg.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.03)
        value = accuracy(model, held_out)
        if site == 0:
            print(f"epoch {epoch} accuracy {value:.3f}, {optimizer.left_out} updates left out", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
