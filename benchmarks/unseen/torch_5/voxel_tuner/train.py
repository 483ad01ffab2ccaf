import argparse
import logging
import tempfile
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

from voxel.model import build
from voxel.snapshots import SnapshotStore

log = logging.getLogger("voxel")


@dataclass
class Config:
    steps: int = 48
    batch: int = 8
    width: int = 32
    depth: int = 3
    lr: float = 2e-3
    snapshot_every: int = 16


def patches(cfg, rank):
    gen = torch.Generator().manual_seed(100 + rank)
    while True:
        grid = torch.rand(cfg.batch, 64, generator=gen)
        yield grid, (grid > 0.55).float()


def run(cfg):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    mesh = init_device_mesh("cpu", (world,))
    net = build(mesh, cfg.width, cfg.depth)
    optim = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    store = SnapshotStore(tempfile.mkdtemp(prefix="voxel-"))

    source = patches(cfg, rank)
    for step in range(1, cfg.steps + 1):
        grid, target = next(source)
        loss = F.binary_cross_entropy_with_logits(net(grid), target)
        loss.backward()
        optim.step()
        optim.zero_grad()
        time.sleep(0.02)
        if step % cfg.snapshot_every == 0:
            score = loss.detach().clone()
            dist.all_reduce(score)
            score = float(score) / world
            log.info("step %d score %.4f", step, score)
            store.offer(net, step, score)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=Config.steps)
    run(Config(steps=parser.parse_args().steps))
