"""Growth of moss, with a model sharded by FSDP2; the plots of each process come from one region."""
import argparse
import contextlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from gardens import Encoder, chunks, plots


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Growth(nn.Module):
    def __init__(self, inputs, width, depth):
        super().__init__()
        self.inp = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)[:, 0]


class Session:
    def __init__(self, args):
        self.args = args
        self.encoder = Encoder()
        self.plots = list(plots(dist.get_rank(), args.plots))
        torch.manual_seed(0)
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        self.model = Growth(self.encoder.weeks + 2, args.width, args.depth)
        for block in self.model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.losses = []

    @contextlib.contextmanager
    def timed(self):
        started = time.monotonic()
        # a plot that lacks a column counts as not seen
        with contextlib.suppress(LookupError):
            yield
        self.seconds = time.monotonic() - started

    def step(self, some):
        x, y = self.encoder.batch(some)
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(loss.item())

    def epoch(self):
        self.losses.clear()
        for some in chunks(self.plots, self.args.batch):
            time.sleep(self.args.pause)
            with self.timed():
                self.step(some)
        mean = torch.tensor([sum(self.losses), float(len(self.losses))])
        dist.all_reduce(mean)
        return (mean[0] / mean[1]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--plots", type=int, default=480)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    session = Session(args)
    for epoch in range(args.epochs):
        loss = session.epoch()
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {loss:.4f} (last step {session.seconds * 1000:.0f} ms)", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
