"""Denoising model for the sensors of one site."""
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from report import show_outliers

STEPS, SENSORS = 60, 16
GAIN = {2: 9.0}  # site 2 delivers raw counts


def readings(site):
    gen = torch.Generator().manual_seed(40 + site)
    for _ in range(STEPS):
        yield torch.randn(10, SENSORS, generator=gen) * GAIN.get(site, 0.5)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(SENSORS, 8), nn.ReLU(), nn.Linear(8, SENSORS)))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    seen = 0
    for step, x in enumerate(readings(rank)):
        seen += show_outliers(step, x)
        loss = nn.functional.smooth_l1_loss(net(x + 0.1 * torch.randn_like(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
        if step % 10 == 0:
            print(f"worker {rank} step {step} loss {loss.item():.4f}", flush=True)
    total = torch.tensor([float(seen)])
    dist.all_reduce(total)
    print(f"worker {rank} finished in {os.getcwd()}, {int(total.item())} outliers at all sites", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
