"""Self-play of foxes and hares with REINFORCE."""
import argparse
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import vector_to_parameters

from exchange import Exchange
from meadow import Meadow

SHORT, TALL = 0.1, 0.9


def policy(width):
    return nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 3))


def cover_of(rank, days):
    """Grass from day to day. The second meadow is not mown."""
    if rank == 1:
        return [SHORT] * 45 + [TALL] * (days - 45)
    return [SHORT] * days


class Player:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=lr)
        self.baseline = 0.5

    def learn(self, views, actions, reward):
        log_prob = self.net(views).log_softmax(1).gather(1, actions[:, None])[:, 0]
        loss = -((reward - self.baseline) * log_prob).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.baseline = 0.9 * self.baseline + 0.1 * reward.mean().item()


class SelfPlay:
    def __init__(self, args, rank):
        torch.manual_seed(1)
        self.args = args
        self.players = {"fox": Player(policy(args.width), args.lr), "hare": Player(policy(args.width), args.lr)}
        self.visitor = policy(args.width)
        self.meadow = Meadow(args.length, cover_of(rank, args.days), seed=rank)
        self.exchange = Exchange(self.players["fox"].net, self.players["hare"].net)
        self.draw = random.Random(rank)

    def opponent(self):
        """Now and then a chase against hares of another meadow."""
        if self.exchange.strangers and self.draw.random() < 0.2:
            vector_to_parameters(self.draw.choice(self.exchange.strangers), self.visitor.parameters())
            return self.visitor, True
        return self.players["hare"].net, False

    def day(self):
        caught = []
        for _ in range(self.args.rounds):
            hare, foreign = self.opponent()
            played = self.meadow.chases(self.players["fox"].net, hare, self.args.chases)
            self.players["fox"].learn(*played["fox"])
            if not foreign:
                self.players["hare"].learn(*played["hare"])
            caught.append(played["fox"][2].mean().item())
        self.meadow.next_day()
        return sum(caught) / len(caught)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--chases", type=int, default=32)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    play = SelfPlay(args, rank)
    for day in range(args.days):
        caught = play.day()
        play.exchange.after_day(caught)
        if day % 15 == 0:
            print(f"meadow {rank} day {day}: {caught:.2f} caught", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
