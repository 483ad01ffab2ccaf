"""Learns a critic of yaw decisions from simulated wind farms, one site for each rank."""
import os
import time
from itertools import islice

import torch
import torch.distributed as dist
from torch import nn

from feed import RolloutFeed, Turbine

UPDATES = 420

SITES = {
    "lowland": dict(mean=7.5, swing=3.0, storm=2.0, storm_hour=1500),
    "coast": dict(mean=10.0, swing=3.5, storm=6.0, storm_hour=2400),
    "ridge": dict(mean=12.0, swing=4.0, storm=12.0, storm_hour=3300),
}


class Critic(nn.Module):
    def __init__(self, hidden=56):
        super().__init__()
        self.gru = nn.GRU(4, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, obs):
        h, _ = self.gru(obs.unsqueeze(0))
        return self.out(h).flatten()


class Learner:
    def __init__(self, critic, lr, world):
        self.critic = critic
        self.opt = torch.optim.Adam(critic.parameters(), lr=lr)
        self.world = world

    def _share_gradients(self):
        handles = [dist.all_reduce(p.grad, async_op=True) for p in self.critic.parameters()]
        for h in handles:
            h.wait()
        for p in self.critic.parameters():
            p.grad /= self.world

    def update(self, obs, power):
        time.sleep(0.022)
        loss = (self.critic(obs) - power).square().mean()
        self.opt.zero_grad()
        loss.backward()
        self._share_gradients()
        self.opt.step()
        return loss.item()


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(7)
    rank = int(os.environ["RANK"])
    name = list(SITES)[rank % len(SITES)]
    feed = RolloutFeed(Turbine(SITES[name], seed=rank))
    learner = Learner(Critic(), lr=2e-3, world=dist.get_world_size())
    for n, (obs, power) in enumerate(islice(feed, UPDATES)):
        loss = learner.update(obs, power)
        if n % 30 == 0:
            print(f"[{name}] update {n}: {loss:.4f}", flush=True)
    feed.close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
