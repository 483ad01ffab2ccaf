"""Ice thickness of a glacier from soundings along its flight lines. The network is sharded with fully_shard."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from previews import PreviewWriter

log = logging.getLogger("glacier")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class ThicknessField(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.leave = nn.Linear(width, 1)

    def forward(self, place):
        x = torch.sin(2 * self.enter(place))
        for block in self.blocks:
            x = block(x)
        return self.leave(x).squeeze(-1)


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def soundings(count, g):
    place = torch.rand(count, 2, generator=g) * 2 - 1
    ice = torch.relu(1 - place[:, 0].square() * 1.5) * (1.2 + torch.sin(3 * place[:, 1]))
    return place, ice + 0.03 * torch.randn(count, generator=g)


def train_epoch(model, optimizer, steps, batch, g):
    total = 0.0
    for _ in range(steps):
        place, ice = soundings(batch, g)
        loss = nn.functional.smooth_l1_loss(model(place), ice)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
        time.sleep(0.01)
    return total / steps


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--preview-every", type=int, default=5)
    return parser.parse_args()


def main():
    args = parse_arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(5)
    model = shard(ThicknessField(args.width, args.depth), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    previews = PreviewWriter(size=24, every=args.preview_every) if rank == 0 else None
    g = torch.Generator().manual_seed(90 + rank)
    for epoch in range(args.epochs):
        loss = train_epoch(model, optimizer, args.steps, args.batch, g)
        if previews is not None and previews.due(epoch):
            previews.write(model, epoch)
        # the flight lines of the next epoch are flown when all have finished this one
        dist.barrier()
        if rank == 0:
            log.info("epoch %d loss %.5f", epoch, loss)
    if previews is not None:
        previews.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
