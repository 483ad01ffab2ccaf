"""Depth of kelp under the boat, with a sharded network and a curriculum."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

from curriculum import Curriculum
from transects import BINS, Boat

log = logging.getLogger("kelp")


class DepthNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(BINS, width), nn.SiLU())
        self.middle = nn.Sequential(nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, 1)

    def forward(self, echoes):
        return self.head(self.middle(self.encode(echoes))).squeeze(-1)


def sharded(mesh):
    torch.manual_seed(3)
    model = DepthNet()
    for part in (model.encode, model.middle):
        fully_shard(part, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train(model, boat, args):
    curriculum = Curriculum()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for transect in DataLoader(boat, batch_size=None):
        if not curriculum.ready(transect):
            continue
        loss = nn.functional.mse_loss(model(transect.echoes), transect.depth)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        curriculum.advance()
        if curriculum.taken % 60 == 0 and boat.number == 0:
            log.info("step %d: loss %.4f, %s", curriculum.taken, loss.item(), curriculum)
    return curriculum


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--transects", type=int, default=480)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    curriculum = train(sharded(mesh), Boat(dist.get_rank(), args.transects), args)
    dist.barrier()
    log.info("boat %d: %s", dist.get_rank(), curriculum)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
