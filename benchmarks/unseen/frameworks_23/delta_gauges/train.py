"""The level of a delta's water six hours ahead: FSDP2 on a mesh of arms and stations."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from post import Post

log = logging.getLogger("delta")
GAUGES = 14


class Station:
    """A day of readings at one station. A reading beyond the staff is cut, and its excess is told to the neighbours."""

    def __init__(self, number, seed, staff=3.0):
        self.number = number
        self.staff = staff
        self.generator = torch.Generator().manual_seed(seed + number)
        self.law = torch.randn(GAUGES, generator=torch.Generator().manual_seed(seed)) / GAUGES**0.5

    def batch(self, day, size):
        levels = torch.randn(size, GAUGES, generator=self.generator)
        if self.number == 3 and day == 4:
            levels += 1.6  # a spring tide, with the wind from the sea
        excess = levels[levels > self.staff] - self.staff
        ahead = levels @ self.law + 0.1 * torch.randn(size, generator=self.generator)
        return levels.clamp(max=self.staff), ahead, excess


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.net(x)


def build(mesh, width=32, depth=2):
    model = nn.Sequential(nn.Linear(GAUGES, width), *(Block(width) for _ in range(depth)), nn.Linear(width, 1))
    for block in model[1:-1]:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def learn_day(model, optimizer, station, post, day, args):
    for _ in range(args.steps):
        levels, ahead, excess = station.batch(day, args.batch)
        loss = nn.functional.mse_loss(model(levels).squeeze(-1), ahead)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        post.score(loss.item())
        post.correct(excess.tolist())
        time.sleep(0.01)
    return post.deliver()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(7)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("arm", "station"))
    model = build(mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    station = Station(dist.get_rank(), seed=90)
    post = Post(mesh)
    for day in range(args.days):
        figures = learn_day(model, optimizer, station, post, day, args)
        if dist.get_rank() == 0:
            log.info("day %d: mse %.4f, correction %.3f", day, figures["scores"], figures["corrections"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
