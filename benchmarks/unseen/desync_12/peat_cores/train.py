"""The bulk density of peat from the humification of its sections, with a sharded model."""

import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

from cores import SECTIONS, BogCores
from trainer import Trainer


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", type=int, default=4160)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--pause", type=float, default=0.006)
    return parser.parse_args()


def build(width, mesh):
    blocks = [nn.Sequential(nn.Linear(SECTIONS, width), nn.GELU()), nn.Sequential(nn.Linear(width, width), nn.GELU())]
    model = nn.Sequential(*blocks, nn.Linear(width, 1))
    for block in blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(4)
    mesh = init_device_mesh("cpu", (world,))
    model = build(args.width, mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    loader = DataLoader(BogCores(rank, args.cores, args.pause), args.batch_size)
    trainer = Trainer(model, optimizer, loader, rank)
    trainer.fit(passes=1)
    dist.barrier()
    print(f"bog {rank}: {trainer.steps} steps, {trainer.left_out} left out", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
