"""Shift of the weft in scans of cloth: a small network under FSDP2, one loom per rank."""

import argparse
import logging
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

from cloth import THREADS, Cloth
from stepper import Stepper


@dataclass
class Run:
    epochs: int = 3
    scans: int = 1920
    batch: int = 8
    width: int = 48
    depth: int = 3
    lr: float = 1e-3
    seed: int = 31


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class ShiftNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Linear(THREADS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, scan):
        x = self.stem(scan)
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(-1)


def sharded(run):
    torch.manual_seed(run.seed)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = ShiftNet(run.width, run.depth)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train(run):
    model = sharded(run)
    step = Stepper(model, run.lr)
    loader = DataLoader(Cloth(dist.get_rank(), run.scans, seed=1), run.batch)
    for epoch in range(run.epochs):
        total = 0.0
        for scan, shift in loader:
            loss = nn.functional.mse_loss(model(scan), shift)
            total += step(loss)
            time.sleep(0.02)
        mean = torch.tensor(total / len(loader))
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            logging.info("epoch %d: %.4f", epoch, mean.item() / dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    for name, field in Run.__dataclass_fields__.items():
        parser.add_argument(f"--{name}", type=type(field.default), default=field.default)
    run = Run(**vars(parser.parse_args()))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(run)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
