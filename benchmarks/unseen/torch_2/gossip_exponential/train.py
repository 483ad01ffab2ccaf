"""Decentralised SGD (gossip) for a sparse click model. No global averaging, only peers."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from topology import SCHEDULES


class Gossip:
    def __init__(self, model, warmup):
        self.model, self.warmup = model, warmup
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def peer(self, step):
        kind = "pairs" if step < self.warmup else "hypercube"
        return SCHEDULES[kind](self.rank, self.world, step)

    def _give_take(self, mine, theirs, other):
        dist.send(mine, dst=other)
        dist.recv(theirs, src=other)

    def _take_give(self, mine, theirs, other):
        dist.recv(theirs, other)
        dist.send(mine, other)

    @torch.no_grad()
    def mix(self, step):
        mine = parameters_to_vector(self.model.parameters())
        theirs = torch.empty_like(mine)
        other = self.peer(step)
        if self.rank % 2 == 0:
            self._give_take(mine, theirs, other)
        else:
            self._take_give(mine, theirs, other)
        vector_to_parameters((mine + theirs) / 2, self.model.parameters())


class ClickModel(nn.Module):
    def __init__(self, items=200, dim=8):
        super().__init__()
        self.items = nn.EmbeddingBag(items, dim, mode="mean")
        self.head = nn.Linear(dim, 1)

    def forward(self, ids):
        return self.head(self.items(ids)).squeeze(-1)


def clicks(gen, n=16):
    ids = torch.randint(200, (n, 5), generator=gen)
    return ids, (ids.float().mean(1) > 100).float()


def main():
    cli = argparse.ArgumentParser(description=__doc__)
    cli.add_argument("--steps", type=int, default=100)
    cli.add_argument("--warmup", type=int, default=25)
    cfg = cli.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    gen = torch.Generator().manual_seed(dist.get_rank())
    model = ClickModel()
    gossip = Gossip(model, cfg.warmup)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for step in range(cfg.steps):
        ids, clicked = clicks(gen)
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids), clicked)
        opt.zero_grad()
        loss.backward()
        opt.step()
        gossip.mix(step)
        time.sleep(0.04)
        if step % 10 == 0 and gossip.rank == 0:
            print(f"step {step:3d} logloss {loss.item():.3f} peer {gossip.peer(step)}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
