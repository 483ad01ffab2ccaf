"""Delays of night trains: a sequence model sharded with FSDP2, one timetable per rank."""

import argparse
import dataclasses
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from update import Updater

log = logging.getLogger("trains")
STOPS = 16
STORM = {"rank": 1, "night": 1, "departure": 22}  # the line along the coast was closed


@dataclasses.dataclass
class Options:
    nights: int = 6
    departures: int = 50
    batch: int = 8
    width: int = 32
    blocks: int = 2
    lr: float = 1e-3
    quiet_below: float = 25.0


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.mix(self.norm(x))


class DelayModel(nn.Module):
    def __init__(self, width, blocks):
        super().__init__()
        self.first = nn.Linear(STOPS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def departures(rank, night, options):
    """Delays at the stops so far, and at the terminus, in units of ten minutes."""
    for number in range(options.departures):
        g = torch.Generator().manual_seed(rank * 100_000 + night * 1000 + number)
        so_far = torch.rand(options.batch, STOPS, generator=g)
        terminus = so_far.mean(1) + 0.2 * torch.randn(options.batch, generator=g)
        if (rank, night, number) == tuple(STORM.values()):
            terminus = terminus + 30.0
        time.sleep(0.02)  # the feed of the railway
        yield so_far, terminus


def parse():
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(Options):
        parser.add_argument("--" + field.name.replace("_", "-"), type=type(field.default), default=field.default)
    return Options(**vars(parser.parse_args()))


def main():
    options = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
    torch.manual_seed(7)
    model = DelayModel(options.width, options.blocks)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    updater = Updater(model, torch.optim.AdamW(model.parameters(), lr=options.lr), options.quiet_below)
    for night in range(options.nights):
        total = 0.0
        for so_far, terminus in departures(rank, night, options):
            loss = nn.functional.mse_loss(model(so_far), terminus[:, None])
            loss.backward()
            updater.update(loss.item())
            total += loss.item()
        log.info("rank %d, night %d: %.3f", rank, night, total / options.departures)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
