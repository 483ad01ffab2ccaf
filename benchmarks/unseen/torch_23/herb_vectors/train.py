"""Predicts the soil of a plot from the herbs on it, with vectors that are refined on the way (FSDP2)."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from herbs import SOILS, Plots, pretrained
from watch import WeightWatch

log = logging.getLogger("train")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class SoilModel(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.herbs = nn.Embedding.from_pretrained(pretrained(width), freeze=False)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, SOILS)

    def forward(self, herbs):
        x = self.herbs(herbs).mean(dim=1)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def sharded(model):
    fully_shard(model.herbs)
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--peak-limit", type=float, default=5.0)
    parser.add_argument("--watch-every", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=40)
    return parser.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    model = sharded(SoilModel(args.width, args.depth))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    watch = WeightWatch(model, args.peak_limit, args.watch_every, args.warm_up)
    plots = Plots(3600, 12, seed=1)
    sampler = DistributedSampler(plots, shuffle=True, seed=5)
    loader = DataLoader(plots, batch_size=args.batch, sampler=sampler, drop_last=True)
    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for herbs, soil in loader:
            loss = nn.functional.cross_entropy(model(herbs), soil)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            watch.look(step)
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if dist.get_rank() == 0 and step % 10 == 0:
                log.info("epoch %d step %d loss %.3f", epoch, step, mean.item() / dist.get_world_size())
            time.sleep(0.02)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
