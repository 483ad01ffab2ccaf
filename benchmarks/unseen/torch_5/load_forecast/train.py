"""Day-ahead load forecasts; one region per rank."""
import math
import time
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from drift import Stabiliser


class Region(NamedTuple):
    name: str
    base: float
    outages: tuple


REGIONS = [
    Region("north", 1.0, ()),
    Region("coast", 0.8, ()),
    Region("valley", 1.1, ((22, 30),)),
]


def windows(region, hours=24, batch=8):
    gen = torch.Generator().manual_seed(int(region.base * 10))
    t = 0
    while True:
        clock = torch.arange(t, t + hours + 1, dtype=torch.float32) * (2 * math.pi / 24)
        curve = region.base + 0.3 * torch.sin(clock)
        curve = curve + 0.02 * torch.randn(batch, hours + 1, generator=gen)
        for first, last in region.outages:
            if first <= t < last:
                curve = curve.clone()
                curve[:, -1] = -30.0
        yield curve[:, :-1], curve[:, -1:]
        t += 1


class Forecaster(nn.Module):
    def __init__(self, hours=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(hours, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, history):
        return self.net(history)


def fit(rank, steps=60):
    torch.manual_seed(1)
    ddp = DistributedDataParallel(Forecaster())
    optim = torch.optim.SGD(ddp.parameters(), lr=1e-3)
    stabiliser = Stabiliser(ddp.module)
    source = windows(REGIONS[rank % len(REGIONS)])
    for step in range(steps):
        history, following = next(source)
        loss = nn.functional.smooth_l1_loss(ddp(history), following)
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
        optim.step()
        stabiliser.observe(step, loss.item())
        time.sleep(0.02)
    return stabiliser


if __name__ == "__main__":
    dist.init_process_group("gloo")
    done = fit(dist.get_rank())
    dist.barrier()
    if dist.get_rank() == 0:
        print("finished,", done.rewinds, "rewinds")
    dist.destroy_process_group()
