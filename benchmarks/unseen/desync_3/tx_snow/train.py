"""Snow depth from radar: gradients are averaged by hand, six stations."""

import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

STEPS = 950


class Station:
    def __init__(self, rank):
        self.rng = np.random.default_rng(rank)
        self.rank = rank

    def scene(self, step):
        radar = torch.from_numpy(self.rng.normal(size=(24, 12)).astype("float32"))
        depth = radar.abs().sum(1, keepdim=True)
        cloud = 1.0 if self.rank == 4 and step == 275 else 0.3
        mask = torch.from_numpy(self.rng.random(24) >= cloud)
        return radar, depth, mask


def average(parameters):
    flat = torch.cat([p.grad.reshape(-1) for p in parameters])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for p in parameters:
        p.grad.copy_(flat[at : at + p.numel()].view_as(p))
        at += p.numel()


def update(net, optimizer, radar, depth, mask):
    """One step over the pixels that are not covered; the loss, or None if there are none."""
    if not mask.any():
        return None
    optimizer.zero_grad()
    loss = nn.functional.l1_loss(net(radar[mask]), depth[mask])
    loss.backward()
    average(list(net.parameters()))
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    station = Station(dist.get_rank())
    losses = []
    for step in range(STEPS):
        time.sleep(0.025)
        loss = update(net, optimizer, *station.scene(step))
        if loss is not None:
            losses.append(loss)
        if step % 300 == 0 and os.environ["RANK"] == "0":
            print(step, losses[-1], flush=True)
    count = torch.tensor([float(len(losses)), sum(losses)])
    dist.all_reduce(count)
    if dist.get_rank() == 0:
        print("mean", (count[1] / count[0]).item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
