"""Water table of peat bogs from weather and satellite features, with fully sharded blocks."""
import argparse
import tempfile
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from checkpoint import Snapshots


@dataclass
class Config:
    width: int = 48
    depth: int = 3
    batch: int = 16
    steps: int = 2000
    lr: float = 1e-3
    save_every: int = 60
    log_every: int = 10


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class BogNet(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.enter = nn.Linear(12, config.width)
        self.blocks = nn.ModuleList(Block(config.width) for _ in range(config.depth))
        self.head = nn.Linear(config.width, 1)

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(-1)


def build(config):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = BogNet(config)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def weather(config, rank):
    g = torch.Generator().manual_seed(100 + rank)
    mix = torch.randn(12, generator=torch.Generator().manual_seed(1))
    while True:
        x = torch.randn(config.batch, 12, generator=g)
        yield x, torch.tanh(x @ mix) + 0.05 * torch.randn(config.batch, generator=g)


def train(config, model, snapshots):
    rank = dist.get_rank()
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    data = weather(config, rank)
    for step in range(config.steps):
        x, y = next(data)
        time.sleep(0.01)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.detach().clone()
        if step % config.log_every == 0:
            dist.all_reduce(value)
            if rank == 0:
                print(f"step {step}: {value.item() / dist.get_world_size():.4f}", flush=True)
        snapshots.after_step(model, step, value.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--save-every", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    config = Config(steps=args.steps, save_every=args.save_every)
    with tempfile.TemporaryDirectory() as folder:
        train(config, build(config), Snapshots(folder, config.save_every))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
