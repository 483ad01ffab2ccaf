"""Cobalt in panes of glass from their spectra: a residual network sharded with FSDP2 on CPUs."""

import argparse
import logging
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from guard import SpikeGuard
from panes import BANDS, PaneStream

log = logging.getLogger("cobalt")


@dataclass
class Config:
    width: int = 48
    depth: int = 3
    batch: int = 16
    steps: int = 600
    report_every: int = 100
    lr: float = 2e-3


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, hidden):
        return hidden + self.body(self.norm(hidden))


class GlassNet(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inlet = nn.Linear(BANDS, config.width)
        self.blocks = nn.ModuleList(Block(config.width) for _ in range(config.depth))
        self.outlet = nn.Linear(config.width, 1)

    def forward(self, spectra):
        hidden = self.inlet(spectra)
        for block in self.blocks:
            hidden = block(hidden)
        return self.outlet(hidden).squeeze(-1)


def build(config):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = GlassNet(config)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=config.lr)


def train(config, stream):
    model, optimizer = build(config)
    guard = SpikeGuard(model.parameters())
    total = torch.zeros(())
    for step in range(1, config.steps + 1):
        spectra, cobalt = next(stream)
        loss = nn.functional.l1_loss(model(spectra), cobalt)
        loss.backward()
        guard.apply(loss.detach())
        optimizer.step()
        optimizer.zero_grad()
        total += loss.detach()
        if step % config.report_every == 0:
            dist.all_reduce(total)
            if dist.get_rank() == 0:
                log.info("step %d: loss %.4f", step, total / config.report_every / dist.get_world_size())
            total.zero_()
    return guard.report()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=Config.steps)
    parser.add_argument("--batch", type=int, default=Config.batch)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(6)
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    config = Config(steps=args.steps, batch=args.batch)
    stream = PaneStream(rank, config.batch, overexposed=170 if rank == 2 else None)
    log.info("process %d: %s", rank, train(config, stream))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
