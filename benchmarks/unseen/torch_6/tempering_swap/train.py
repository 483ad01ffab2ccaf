"""Replica exchange for Langevin-trained energy models: one temperature per rank."""
import math
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Energy(nn.Module):
    def __init__(self, dim=6, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Softplus(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Replica:
    def __init__(self, rank, world, t_min=0.02, t_max=0.4):
        self.rank, self.world = rank, world
        ratio = (t_max / t_min) ** (1 / max(world - 1, 1))
        self.temperature = t_min * ratio ** rank
        self.energy = Energy()
        self.gen = torch.Generator().manual_seed(40 + rank)
        self.last = math.inf
        self.accepted = 0

    def langevin_step(self, lr=1e-2):
        x = torch.randn(16, 6, generator=self.gen)
        y = x.pow(2).sum(1).sqrt()
        loss = (self.energy(x) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, list(self.energy.parameters()))
        with torch.no_grad():
            for p, g in zip(self.energy.parameters(), grads):
                noise = torch.randn(p.shape, generator=self.gen)
                p.add_(-lr * g + math.sqrt(2 * lr * self.temperature) * 0.1 * noise)
        self.last = loss.item()

    # exchange -----------------------------------------------------------
    def partner(self, round_):
        """Even rounds pair (0,1)(2,3), odd rounds (1,2); the ends sit out."""
        other = self.rank + 1 if (self.rank + round_) % 2 == 0 else self.rank - 1
        return other if 0 <= other < self.world else None

    def trade(self, other):
        mine = torch.cat([parameters_to_vector(self.energy.parameters()).detach(),
                          torch.tensor([self.last, self.temperature])])
        theirs = torch.empty_like(mine)
        dist.send(mine, dst=other)
        dist.recv(theirs, src=other)
        return theirs[:-2], theirs[-2].item(), theirs[-1].item()

    def exchange(self, round_):
        other = self.partner(round_)
        if other is None:
            return
        weights, loss, temperature = self.trade(other)
        delta = (1 / self.temperature - 1 / temperature) * (self.last - loss)
        if delta > 0:
            vector_to_parameters(weights, self.energy.parameters())
            self.accepted += 1


def main(iterations=120, burn_in=40, every=10):
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(dist.get_rank())
    replica = Replica(dist.get_rank(), dist.get_world_size())
    for it in range(iterations):
        replica.langevin_step()
        if it >= burn_in and it % every == 0:
            replica.exchange(it // every)
        if it % 20 == 0:
            curve = [torch.zeros(1) for _ in range(replica.world)]
            dist.all_gather(curve, torch.tensor([replica.last]))
            if replica.rank == 0:
                print(it, " ".join(f"{c.item():.3f}" for c in curve), flush=True)
        time.sleep(0.02)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
