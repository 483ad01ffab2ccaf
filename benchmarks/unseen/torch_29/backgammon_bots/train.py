"""Distils the equities of an engine into a small network. Each rank plays another variant."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from engine import Engine
from selfplay import POINTS, Table

VARIANTS = {0: "standard", 1: "nackgammon", 2: "standard"}
STEPS = int(os.environ.get("STEPS", 500))


class Bot(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(POINTS, 40), nn.ReLU(), nn.Linear(40, 1), nn.Tanh())

    def forward(self, boards):
        return self.layers(boards).squeeze(-1)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    engine = Engine(VARIANTS[rank])
    table = Table(engine, seed=rank)
    torch.manual_seed(1)
    bot = DDP(Bot())
    optimizer = torch.optim.Adam(bot.parameters(), lr=3e-3)

    for step in range(STEPS):
        boards, equities = table.positions(6)
        loss = nn.functional.mse_loss(bot(boards), equities)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step}  loss {mean.item() / dist.get_world_size():.4f}", flush=True)

    engine.quit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
