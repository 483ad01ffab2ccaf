"""A discrete description of pebbles: encoder and decoder under FSDP2, the codebook as a distributed tensor."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from beaches import KINDS, PIXELS, Beach, looks
from codebook import Codebook

log = logging.getLogger("pebbles")


class Pebbles(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.encoder = nn.Linear(PIXELS, PIXELS, bias=False)
        nn.init.eye_(self.encoder.weight)
        self.decoder = nn.Sequential(nn.Linear(PIXELS, width), nn.ReLU(), nn.Linear(width, PIXELS))

    def encode(self, patches):
        return self.encoder(patches)

    def forward(self, patches, codebook):
        codes = self.encode(patches)
        nearest, rows = codebook.assign(codes)
        straight = codes + (rows - codes).detach()
        loss = nn.functional.mse_loss(self.decoder(straight), patches)
        commitment = nn.functional.mse_loss(codes, rows)
        return loss + 0.25 * commitment, codes.detach(), nearest


def build(mesh):
    torch.manual_seed(0)
    model = Pebbles()
    fully_shard(model.decoder, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def train(args, mesh):
    rank = dist.get_rank()
    beach = Beach(rank, args.patches)
    model = build(mesh)
    codebook = Codebook(looks(), mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    revived = 0
    for step in range(args.steps):
        patches = beach.batch(step)
        loss, codes, nearest = model(patches, codebook)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        revived += codebook.revive(codes, nearest, args.patience)
        if step % 50 == 0 and rank == 0:
            log.info("step %d: loss %.4f, %d rows revived", step, loss.item(), revived)
        time.sleep(args.pause)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--patches", type=int, default=4 * KINDS)
    parser.add_argument("--patience", type=int, default=30)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    train(args, mesh)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
