import time
from typing import Iterator, NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from snapshots import BestSnapshot


class Stage(NamedTuple):
    resolution: int
    steps: int
    lr: float


CURRICULUM = [Stage(12, 15, 1e-2), Stage(20, 15, 5e-3), Stage(28, 20, 2e-3)]
EVAL_EVERY = 5


def satellite_tiles(stage: Stage, rank: int) -> Iterator[tuple]:
    gen = torch.Generator().manual_seed(stage.resolution * 100 + rank)
    for _ in range(stage.steps):
        tiles = torch.randn(8, 4, stage.resolution, stage.resolution, generator=gen)
        cover = (tiles.mean((1, 2, 3)) * 40).sigmoid()
        yield tiles, cover


def cloud_net():
    return nn.Sequential(
        nn.Conv2d(4, 12, 3, padding=1), nn.GroupNorm(3, 12), nn.SiLU(),
        nn.Conv2d(12, 12, 3, stride=2, padding=1), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 1),
    )


def mean_over_ranks(value: torch.Tensor) -> float:
    value = value.detach().clone()
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


def run_stage(stage, model, optimizer, snapshot):
    for group in optimizer.param_groups:
        group["lr"] = stage.lr
    window = []
    for step, (tiles, cover) in enumerate(satellite_tiles(stage, dist.get_rank()), 1):
        loss = F.mse_loss(model(tiles).squeeze(1).sigmoid(), cover)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        window.append(loss.detach())
        time.sleep(0.02)
        if step % EVAL_EVERY == 0:
            score = mean_over_ranks(torch.stack(window).mean())
            snapshot.offer(score, f"r{stage.resolution}-{step:03d}")
            window.clear()
            if dist.get_rank() == 0:
                print(f"{stage.resolution}px step {step}: {score:.5f}", flush=True)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = DDP(cloud_net())
    adam = torch.optim.Adam(net.parameters())
    keeper = BestSnapshot(net, adam)
    for number, stage in enumerate(CURRICULUM):
        if number:
            keeper.rewind()
        run_stage(stage, net, adam, keeper)
    dist.destroy_process_group()
