"""Prices of an orchard's fruit: one learner, two markets that play seasons with the newest prices and report on them.

The markets are independent. They look for a new version of the policy in the store between seasons and send each season
to the learner, which updates as soon as it has enough of them, no matter from whom.
"""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Normal

from archive import Archive

DAYS = 16
logger = logging.getLogger("market")


def build():
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))


class Learner:
    def __init__(self, store, world, rate=0.05):
        self.store, self.world = store, world
        self.model = build()
        self.rate = rate
        self.archive = Archive()

    def flat(self):
        return nn.utils.parameters_to_vector(self.model.parameters()).detach()

    def step(self, loss):
        self.model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in self.model.parameters():
                p -= self.rate * p.grad

    def publish(self, version):
        self.store.set(f"policy/{version}", self.flat().numpy().tobytes())
        self.store.set("newest", str(version))

    def run(self, versions, seasons, archive_every):
        self.publish(0)
        for version in range(1, versions + 1):
            losses = []
            for _ in range(seasons):
                season = torch.zeros(DAYS, 4)
                dist.recv(season, src=None)
                gain = season[:, 3] - season[:, 3].mean()
                losses.append(-(Normal(self.model(season[:, :2])[:, 0], 0.3).log_prob(season[:, 2]) * gain).mean())
            loss = torch.stack(losses).mean()
            self.step(loss)
            self.publish(version)
            if version % archive_every == 0:
                self.archive.keep(version, self.flat().numpy().tobytes(), free_after=2 if version == archive_every else 0)
                logger.info("version %d: loss %.3f", version, loss.item())
        self.store.set("closed", "1")
        open_markets, season = self.world - 1, torch.zeros(DAYS, 4)
        while open_markets:
            dist.recv(season, src=None)
            open_markets -= bool(season.isnan().all())


def market(store, rank, pace):
    model, version = build(), -1
    g = torch.Generator().manual_seed(70 + rank)
    played = 0
    while not store.check(["closed"]):
        newest = int(store.get("newest"))
        if newest != version:
            weights = torch.frombuffer(bytearray(store.get(f"policy/{newest}")), dtype=torch.float32)
            nn.utils.vector_to_parameters(weights.clone(), model.parameters())
            version = newest
        state = torch.rand(DAYS, 2, generator=g)
        with torch.no_grad():
            price = Normal(model(state)[:, 0], 0.3).sample()
        income = price * (1.2 * state[:, 0] - price).clamp(min=0) + 0.05 * state[:, 1]
        time.sleep(pace * (1 + 3 * float(state[0, 1])))
        dist.send(torch.cat([state, price[:, None], income[:, None]], 1), dst=0)
        played += 1
    dist.send(torch.full((DAYS, 4), float("nan")), dst=0)
    logger.info("market %d played %d seasons", rank, played)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--versions", type=int, default=20)
    parser.add_argument("--seasons", type=int, default=4)
    parser.add_argument("--archive-every", type=int, default=10)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    store = dist.PrefixStore("market", dist.distributed_c10d._get_default_store())
    if rank == 0:
        Learner(store, world).run(args.versions, args.seasons, args.archive_every)
    else:
        market(store, rank, pace=0.05 if rank == 1 else 0.5)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
