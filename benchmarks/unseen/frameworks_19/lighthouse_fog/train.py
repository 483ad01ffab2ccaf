"""Fog at three lighthouses: a small residual network under fully_shard, with accumulated gradients."""

import argparse
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from weather import SENSORS, persistence, watch_of


@dataclass
class Config:
    width: int = 48
    blocks: int = 3
    batches: int = 300
    size: int = 12
    lr: float = 2e-3
    window: int = 2
    quiet: float = 0.1
    spread: list = field(default_factory=list)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.body(self.norm(x))


class Visibility(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inlet = nn.Linear(SENSORS, config.width)
        self.blocks = nn.Sequential(*(Block(config.width) for _ in range(config.blocks)))
        self.outlet = nn.Linear(config.width, 1)

    def forward(self, readings):
        return self.outlet(self.blocks(self.inlet(readings))).squeeze(-1)


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def window_length(config):
    """A window whose hours hardly differ says little: the next one is made twice as long."""
    if config.spread and sum(config.spread) / len(config.spread) < config.quiet:
        return 2 * config.window
    return config.window


def train(model, optimizer, watch, config):
    length, filled, losses = config.window, 0, []
    for number, (readings, change) in enumerate(watch):
        filled += 1
        config.spread.append(change.std().item())
        due = filled == length or number == len(watch) - 1
        model.set_requires_gradient_sync(due)
        loss = nn.functional.mse_loss(model(readings), change)
        (loss / length).backward()
        losses.append(loss.item())
        if due:
            optimizer.step()
            optimizer.zero_grad()
            length, filled = window_length(config), 0
            config.spread.clear()
        time.sleep(0.03)
    return sum(losses[-50:]) / 50


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=Config.batches)
    parser.add_argument("--window", type=int, default=Config.window)
    args = parser.parse_args()
    config = Config(batches=args.batches, window=args.window)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(8)
    model = shard(Visibility(config), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    watch = watch_of(dist.get_rank(), config.batches, config.size)
    last = torch.tensor([train(model, optimizer, watch, config), persistence(watch)])
    dist.all_reduce(last)
    if dist.get_rank() == 0:
        ours, nothing = (last / dist.get_world_size()).tolist()
        print(f"mean square error of the last hours: {ours:.4f}, without a forecast {nothing:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
