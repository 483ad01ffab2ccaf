"""How fast the air rises around a glider, learnt from easy to difficult country; FSDP2 on the processor."""

import argparse
import collections
import logging
import statistics

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from flights import CHANNELS, CURRICULUM, Logbook

log = logging.getLogger("thermals")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.inner(self.norm(x)))


class Variometer(nn.Module):
    def __init__(self, width=24, blocks=1):
        super().__init__()
        self.entry = nn.Linear(CHANNELS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.exit = nn.Linear(width, 1)

    def forward(self, channels):
        x = self.entry(channels)
        for block in self.blocks:
            x = block(x)
        return self.exit(x).squeeze(-1)


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


class Course:
    def __init__(self, model, logbook, lr, window):
        self.model, self.logbook = model, logbook
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.recent = collections.deque(maxlen=window)
        self.steps = 0

    def step(self, channels, climb):
        loss = nn.functional.mse_loss(self.model(channels), climb)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.recent.append(loss.item())
        self.steps += 1

    def mastered(self, stage):
        return len(self.recent) == self.recent.maxlen and statistics.fmean(self.recent) < stage.enough

    def fly(self, stage):
        self.recent.clear()
        for channels, climb in self.logbook.batches(stage):
            self.step(channels, climb)
            if self.mastered(stage):
                break
        log.info("%s after %d steps: loss %.3f", stage.country, self.steps, statistics.fmean(self.recent))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--window", type=int, default=50)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(8)
    model = shard(Variometer(), mesh)
    course = Course(model, Logbook(dist.get_rank(), args.batch_size), args.lr, args.window)
    for stage in CURRICULUM:
        course.fly(stage)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
