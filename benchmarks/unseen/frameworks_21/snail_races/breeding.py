"""Two snail stables, each with a racing model of its own, that hand the better one on."""

import time

import torch
import torch.distributed as dist
from ray import train
from torch import nn

SHELL = 16


def snails(count, seed):
    g = torch.Generator().manual_seed(seed)
    gait = torch.randn(SHELL, generator=torch.Generator().manual_seed(0))
    shells = torch.randn(count, SHELL, generator=g)
    shells += 0.5 * gait * (shells @ gait).sign().unsqueeze(1) / gait.norm()
    return shells, (shells @ gait > 0).float()


class Stable:
    def __init__(self, config):
        self.config = config
        self.rank = dist.get_rank()
        self.peer = 1 - self.rank
        torch.manual_seed(100 + self.rank)
        self.model = nn.Sequential(nn.Linear(SHELL, 24), nn.Tanh(), nn.Linear(24, 1))
        lr = config["lr"] * (1.0, 0.4)[self.rank]
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.trial = snails(config["trial"], seed=99)
        self.round = 0

    def practise(self):
        shells, first = snails(self.config["steps"] * self.config["batch"], seed=10 * self.round + self.rank)
        for x, y in zip(shells.split(self.config["batch"]), first.split(self.config["batch"])):
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(x).squeeze(-1), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.02)
        self.round += 1

    @torch.no_grad()
    def race(self):
        """Share of the trial's snails whose place is foretold; both stables learn both results."""
        shells, first = self.trial
        right = ((self.model(shells).squeeze(-1) > 0).float() == first).float().mean()
        results = [torch.zeros(()), torch.zeros(())]
        dist.all_gather(results, right)
        return results[self.rank].item(), results[self.peer].item()

    def hand_on(self, mine, theirs):
        """The winner's weights go to the other stable."""
        for parameter in self.model.parameters():
            if mine > theirs:
                dist.send(parameter.data, dst=self.peer)
            else:
                dist.recv(parameter.data, src=self.peer)


def keep_stable(config):
    torch.set_num_threads(1)
    stable = Stable(config)
    for _ in range(config["rounds"]):
        stable.practise()
        mine, theirs = stable.race()
        stable.hand_on(mine, theirs)
        train.report({"round": stable.round, "mine": mine, "theirs": theirs})
