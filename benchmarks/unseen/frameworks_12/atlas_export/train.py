"""Tiles of an atlas, what covers the ground: FSDP2, exported twice to a slow share."""

import argparse
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from export import export

COVERS = 5


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU())

    def forward(self, x):
        return x + self.mix(x)


def build(width, depth, mesh):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(12, width), *(Mixer(width) for _ in range(depth)), nn.Linear(width, COVERS))
    for layer in model:
        if isinstance(layer, Mixer):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def tiles(batch, generator):
    cover = torch.randint(0, COVERS, (batch,), generator=generator)
    bands = torch.randn(batch, 12, generator=generator)
    bands[:, :COVERS] += 2 * nn.functional.one_hot(cover, COVERS)
    return bands, cover


def look_at_tiles(model, generator, count):
    """The same number of forwards everywhere, but the second process looks longer at each."""
    with torch.no_grad():
        right = torch.zeros(1)
        for _ in range(count):
            bands, cover = tiles(32, generator)
            right += (model(bands).argmax(1) == cover).float().mean()
            time.sleep(0.6 if dist.get_rank() == 1 else 0.01)
    dist.all_reduce(right)
    return right.item() / count / dist.get_world_size()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = build(args.width, args.depth, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(10 + dist.get_rank())
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.rounds):
            for _ in range(args.steps):
                bands, cover = tiles(32, generator)
                loss = nn.functional.cross_entropy(model(bands), cover)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                time.sleep(0.01)
            accuracy = look_at_tiles(model, generator, 6)
            if dist.get_rank() == 0:
                print(f"round {number}: {accuracy:.3f}", flush=True)
            export(model, folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
