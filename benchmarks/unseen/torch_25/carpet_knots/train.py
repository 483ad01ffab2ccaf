"""Density of knots of carpets from photographs (FSDP2), with a growing number of micro-batches in a step."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from looms import LOOMS, PIXELS, Photographs
from window import GrowingWindow

log = logging.getLogger("carpets")


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.inner(x)


class KnotCounter(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Linear(PIXELS, width)
        self.blocks = nn.ModuleList(Residual(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)[:, 0]


def build(args):
    torch.manual_seed(11)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = KnotCounter(args.width, args.depth)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train(args, model, photographs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    window = GrowingWindow(args.window, args.window_limit, args.scatter)
    for number, (x, y) in enumerate(photographs):
        closing = window.closing
        model.set_requires_gradient_sync(closing)
        loss = nn.functional.mse_loss(model(x), y)
        (loss / window.size).backward()
        window.note(loss.item())
        if closing:
            optimizer.step()
            optimizer.zero_grad()
            window.close()
        time.sleep(0.02)
        if number % 40 == 0:
            log.info("micro-batch %d loss %.4f", number, loss.item())
    return window.steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--micro-batches", type=int, default=480)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--window", type=int, default=2)
    parser.add_argument("--window-limit", type=int, default=8)
    parser.add_argument("--scatter", type=float, default=1.0)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    photographs = Photographs(LOOMS[rank % len(LOOMS)], args.micro_batches, args.size)
    steps = train(args, build(args), photographs)
    log.info("%d steps", steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
