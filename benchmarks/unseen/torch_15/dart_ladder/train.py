"""Darts by policy gradient: where to aim, with the scatter of one's own hand, against the partners of one's own club."""
import argparse
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Normal

from ladder import Ladder

CLUBS = [(1.1, 1.4, 1.2), (0.04, 0.05, 0.03), (1.3, 1.0, 1.5)]


class Aim(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
        self.spread = nn.Parameter(torch.tensor([-1.0, -1.0]))

    def forward(self, situation):
        return Normal(self.net(situation), self.spread.exp())


class Player:
    """The own darts and those of the partner; a leg is won with more points in three throws."""

    def __init__(self, seed, throws=3):
        self.g = torch.Generator().manual_seed(seed)
        self.throws = throws

    def situation(self, legs):
        return torch.rand(legs, self.throws, 3, generator=self.g)

    def points(self, landed, situation):
        target = situation[..., :2] - 0.5
        return torch.exp(-2 * (landed - target).square().sum(-1))

    def partner(self, skill, legs):
        return skill * torch.rand(legs, self.throws, generator=self.g)


def match(aim, player, skill, legs):
    situation = player.situation(legs)
    policy = aim(situation)
    landed = policy.sample()
    points = player.points(landed, situation)
    won = points.sum(1) > player.partner(skill, legs).sum(1)
    loss = -(policy.log_prob(landed).sum(-1) * (points - points.mean())).mean()
    return loss, won.float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--matches", type=int, default=500)
    parser.add_argument("--legs", type=int, default=12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    folder = tempfile.mkdtemp(prefix="ladder_")
    skills = CLUBS[rank % len(CLUBS)]
    ladder = Ladder(folder, skills)
    torch.manual_seed(5)
    aim = Aim()
    optimizer = torch.optim.Adam(aim.parameters(), lr=5e-3)
    player = Player(seed=20 + rank)
    for number in range(args.matches):
        partner = number % len(skills)
        loss, score = match(aim, player, skills[partner], args.legs)
        rating = ladder.record(partner, score)
        optimizer.zero_grad()
        loss.backward()
        flat = torch.cat([p.grad.flatten() for p in aim.parameters()])
        dist.all_reduce(flat)
        for p, grad in zip(aim.parameters(), flat.split([p.numel() for p in aim.parameters()])):
            p.grad.copy_(grad.view_as(p) / world)
        optimizer.step()
        time.sleep(0.1)
        if number % 20 == 0:
            print(f"club {rank} match {number} score {score:.2f} rating {rating:.0f}", flush=True)
    shutil.rmtree(folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
