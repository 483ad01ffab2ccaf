import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from probe import WeightProbe

STEPS = int(os.environ.get("STEPS", 48))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 3 * dim)
        self.down = nn.Linear(3 * dim, dim)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Regressor(nn.Module):
    def __init__(self, dim=18, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(x).squeeze(-1)


def batches(rank, n):
    g = torch.Generator().manual_seed(1 + rank)
    for _ in range(n):
        x = torch.randn(8, 18, generator=g)
        yield x, x[:, :3].sum(1)


def build():
    torch.manual_seed(7)
    model = Regressor()
    for b in model.blocks:
        fully_shard(b)
    return fully_shard(model)


def run():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = build()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    probe = WeightProbe(model, every=18)

    for step, (x, y) in enumerate(batches(rank, STEPS)):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        time.sleep(0.02)
        probe.tick(step)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0 and step % 6 == 0:
            print(f"{step:4d} {mean.item() / dist.get_world_size():.4f}", flush=True)

    probe.dump(os.path.join(tempfile.gettempdir(), f"weights_{os.getpid()}.json"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    run()
