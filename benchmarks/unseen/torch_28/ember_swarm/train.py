"""Learns the spread of embers from a particle simulation, one strip of the valley per rank.

torchrun --standalone --nproc-per-node 4 train.py
"""
import time

import torch
import torch.distributed as dist
from torch import nn

from mail import pass_on
from strip import HEAT, Strip

STEPS = 600
WEATHER = {2: 260}       # strip -> step at which the rain starts


def average_gradients(model):
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p in model.parameters():
        p.grad.copy_(flat[: p.numel()].view_as(p))
        flat = flat[p.numel():]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    strip = Strip(rank, rain=WEATHER.get(rank))

    for step in range(STEPS):
        before = strip.embers.clone()
        strip.advance(step, gust=1.0 + 0.3 * torch.rand(1).item())
        loss = nn.functional.mse_loss(model(before[:, 1:]), strip.embers[:, HEAT:])
        optimizer.zero_grad()
        loss.backward()
        strip.add(pass_on(strip.leavers()), world)
        average_gradients(model)
        optimizer.step()
        time.sleep(0.02)         # the wind field is read at 50 Hz
        if step % 100 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f} embers {len(strip.embers)}", flush=True)

    total = torch.tensor([float(len(strip.embers))])
    dist.all_reduce(total)
    if rank == 0:
        print("embers in the valley:", int(total))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
