"""Viscosity of lava from thermal profiles; the model is sharded with fully_shard."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from flows import DEPTHS, VOLCANOES, Average, Profiles

log = logging.getLogger("lava")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class ViscosityModel(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.entry = nn.Linear(DEPTHS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.exit = nn.Linear(width, 1)

    def forward(self, profile):
        x = self.entry(profile)
        for block in self.blocks:
            x = block(x)
        return self.exit(x).squeeze(-1)


def build(args, mesh):
    model = ViscosityModel(args.width, args.depth)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=260)
    parser.add_argument("--warmup", type=int, default=40)
    parser.add_argument("--spike", type=float, default=8.0, help="clip gradients when the loss is this much above average")
    parser.add_argument("--max-norm", type=float, default=1.0)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--depth", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = build(args, init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    profiles = Profiles(VOLCANOES[rank], args.batch)
    average = Average(decay=0.9)
    for step in range(args.steps):
        profile, viscosity = profiles(step)
        loss = nn.functional.smooth_l1_loss(model(profile), viscosity)
        loss.backward()
        # clipping costs a pass over all gradients, which is only worth it after a spike
        if step > args.warmup and loss.item() > args.spike * max(average.value, 0.1):
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            log.info("%s, step %d: gradient norm %.2f", VOLCANOES[rank].name, step, float(norm))
        average.update(loss.item())
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.01)
        if step % 50 == 0 and rank == 0:
            log.info("step %d: %.4f", step, average.value)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
