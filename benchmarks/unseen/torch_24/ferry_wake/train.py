"""Heights of wakes behind ferries at the piers of a harbour; a small sharded transformer (FSDP2).

Each process reads the gauge of one pier: windows of water level and the speed of the ferry passing.
"""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from stability import ClipConfig, SpikeClipper

WINDOW, FEATURES = 12, 6


class Gauge:
    """Windows of one pier, produced from the ferry's speed and the tide."""

    def __init__(self, pier, batch):
        self.g = torch.Generator().manual_seed(70 + pier)
        self.batch = batch
        # A gauge reports centimetres until it has been told to report metres (see the maintenance book).
        self.serviced = {2: 131}.get(pier)

    def next(self, step):
        x = torch.randn(self.batch, WINDOW, FEATURES, generator=self.g)
        height = x[:, :, 0].mean(1) - 0.5 * x[:, -1, 1] + 0.1 * torch.randn(self.batch, generator=self.g)
        if step == self.serviced:
            height = 100 * height
        return x, height


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mix = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.mix(x)


class WakeModel(nn.Module):
    def __init__(self, width=24, depth=2):
        super().__init__()
        self.into = nn.Linear(FEATURES, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.into(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x[:, -1])[:, 0]


def shard(model):
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


class Trainer:
    def __init__(self, args):
        torch.manual_seed(0)
        self.args = args
        self.model = shard(WakeModel())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.clipper = SpikeClipper(self.model, ClipConfig(max_norm=args.max_norm))
        self.gauge = Gauge(dist.get_rank(), args.batch)

    def step(self, number):
        x, height = self.gauge.next(number)
        loss = nn.functional.mse_loss(self.model(x), height)
        loss.backward()
        self.clipper.after_backward(loss.detach())
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def fit(self):
        for number in range(self.args.steps):
            loss = self.step(number)
            time.sleep(self.args.pause)
            if number % 40 == 0 and dist.get_rank() == 0:
                print(f"step {number}: loss {loss.item():.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--max-norm", type=float, default=1.0)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainer = Trainer(args)
    trainer.fit()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
