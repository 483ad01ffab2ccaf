"""Contextual bandits with two teams of two players each."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical

from teams import Rivalry, Team

log = logging.getLogger("bandits")


class Machine:
    """Arms whose reward depends on the context; each player has its own sequence of contexts."""

    def __init__(self, arms, features, seed):
        self.weights = torch.randn(features, arms, generator=torch.Generator().manual_seed(8))
        self.g = torch.Generator().manual_seed(seed)
        self.features = features

    def contexts(self, count):
        return torch.randn(count, self.features, generator=self.g)

    def pull(self, contexts, arms):
        value = (contexts @ self.weights).gather(1, arms[:, None])[:, 0]
        return value + 0.2 * torch.randn(len(arms), generator=self.g)


class Player:
    def __init__(self, args, rank):
        self.args = args
        self.machine = Machine(args.arms, args.features, seed=rank)
        torch.manual_seed(rank)
        self.policy = nn.Sequential(nn.Linear(args.features, args.width), nn.Tanh(), nn.Linear(args.width, args.arms))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=args.lr)

    def play(self):
        total = 0.0
        for _ in range(self.args.pulls):
            contexts = self.machine.contexts(self.args.batch)
            choice = Categorical(logits=self.policy(contexts))
            arms = choice.sample()
            reward = self.machine.pull(contexts, arms)
            loss = -(choice.log_prob(arms) * (reward - reward.mean())).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += reward.mean().item()
            time.sleep(0.01)
        return total / self.args.pulls


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--trials", type=int, default=15, help="rounds before the first comparison")
    parser.add_argument("--team", type=int, default=2)
    parser.add_argument("--pulls", type=int, default=25)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--arms", type=int, default=6)
    parser.add_argument("--features", type=int, default=5)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(message)s")
    team = Team.build(args.team)
    rivalry = Rivalry(team, args.trials)
    player = Player(args, rank)
    for number in range(args.rounds):
        score = player.play()
        best = rivalry.settle(number, player.policy, score)
        if best is not None:
            log.info("round %d: goes on with the policy of member %d", number, best)
        overall = torch.tensor([score])
        dist.all_reduce(overall)
        if rank == 0 and number % 5 == 0:
            log.info("round %d: reward %.3f", number, overall.item() / dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
