"""Coral cover from multispectral pictures, with a fully sharded network."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

from memory import Memory
from reef import BANDS, ReefSurvey

log = logging.getLogger("coral")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        return x + self.mix(self.norm(x)).relu()


class CoverNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Linear(BANDS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, bands):
        x = self.stem(bands)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Surveyor:
    def __init__(self, mesh, args):
        self.model = CoverNet(args.width, args.depth)
        for block in self.model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.memory = Memory(args.keep, args.limit)

    def train_on(self, bands, cover):
        loss = (self.model(bands).squeeze(1) - cover).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def dive(self, batch):
        loss = self.train_on(*batch)
        self.memory.offer(batch, loss)
        if self.memory.full():
            again = self.train_on(*self.memory.empty())
            log.info("difficult quadrats: %.3f", again)
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dives", type=int, default=480)
    parser.add_argument("--quadrats", type=int, default=12)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--keep", type=int, default=5)
    parser.add_argument("--limit", type=float, default=12.0)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(2)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    surveyor = Surveyor(mesh, args)
    survey = DataLoader(ReefSurvey(dist.get_rank(), args.dives, args.quadrats), batch_size=None)
    for number, batch in enumerate(survey):
        loss = surveyor.dive(batch)
        if number % 80 == 0 and dist.get_rank() == 0:
            log.info("dive %d: %.3f", number, loss)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
