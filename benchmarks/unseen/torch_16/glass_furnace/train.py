"""A surrogate of a glass furnace that asks the flow solver for the settings it knows least about, round by round."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from licence import solve, tidy

log = logging.getLogger("furnace")
BURNERS = 8


class Pool:
    """Settings with the solver's answers; grows with each round."""

    def __init__(self, rank):
        self.generator = torch.Generator().manual_seed(rank)
        self.heats = torch.empty(0, BURNERS)
        self.draught = torch.empty(0)

    def extend(self, model, count):
        candidates = torch.rand(20 * count, BURNERS, generator=self.generator) * 3.0
        with torch.no_grad():
            first, second = model.module[0](candidates), model.module[1](candidates)
        picked = candidates[(first - second).abs().squeeze(-1).topk(count).indices]
        self.heats = torch.cat([self.heats, picked])
        self.draught = torch.cat([self.draught, torch.tensor(solve(picked))])

    def batch(self, size):
        pick = torch.randint(0, len(self.draught), (size,), generator=self.generator)
        return self.heats[pick], self.draught[pick]


class Pair(nn.ModuleList):
    """Two networks, whose disagreement says where more data are needed."""

    def forward(self, heats):
        return torch.cat([net(heats) for net in self], 1)


def net(width):
    return nn.Sequential(nn.Linear(BURNERS, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--count", type=int, default=24)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(message)s")
    torch.manual_seed(4)
    model = DDP(Pair([net(32), net(32)]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    pool = Pool(rank)
    for number in range(args.rounds):
        begin = time.monotonic()
        pool.extend(model, args.count)
        for _ in range(args.steps):
            heats, draught = pool.batch(32)
            loss = (model(heats) - draught[:, None]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        log.info("round %d: loss %.4f, %d settings, %.1f s", number, loss, len(pool.draught), time.monotonic() - begin)
    dist.barrier()
    if rank == 0:
        tidy()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
