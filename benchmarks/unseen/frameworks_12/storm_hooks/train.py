"""Wind at three masts, a step ahead: a stack of sharded blocks (FSDP2), and hooks that report every twenty steps."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from hooks import Gusts, Hooks, Losses


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class WindNet(nn.Module):
    def __init__(self, history, width, depth):
        super().__init__()
        self.inside = nn.Linear(history, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.outside = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inside(x)
        for block in self.blocks:
            x = block(x)
        return self.outside(x).squeeze(1)


class Mast:
    """Readings of one mast; a front comes through at the second one."""

    def __init__(self, number, length):
        g = torch.Generator().manual_seed(number)
        t = torch.arange(float(length))
        self.wind = 6 + 2 * torch.sin(t / (7 + number)) + 0.5 * torch.randn(length, generator=g)
        if number == 1:
            self.wind[1400:1440] += 12

    def windows(self, step, batch, history):
        rows = self.wind.unfold(0, history + 1, 1)[step * batch : (step + 1) * batch]
        return rows[:, :-1], rows[:, -1]


def build(args, mesh):
    torch.manual_seed(args.seed)
    model = WindNet(args.history, args.width, args.depth)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--history", type=int, default=16)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--threshold", type=float, default=13.0)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    reports = dist.new_group(list(range(world)))
    model = build(args, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, gusts = Losses(group=reports), Gusts(args.threshold)
    hooks = Hooks(losses, gusts)
    mast = Mast(rank, args.batch * args.steps + args.history + 1)
    for step in range(args.steps):
        history, following = mast.windows(step, args.batch, args.history)
        loss = nn.functional.huber_loss(model(history), following)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.note(loss.detach())
        gusts.scan(following)
        time.sleep(0.02)
        if step % args.every == args.every - 1:
            row = hooks.report()
            if rank == 0:
                print(f"step {step}: loss {row['loss']:.3f}, {row['gusts']} gusts", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
