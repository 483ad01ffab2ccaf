"""Tags of short voice messages: each rank trains its own learning rate, and the best one is copied (population training)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn


def messages(count, seed):
    g = torch.Generator().manual_seed(seed)
    mix = torch.randn(12, 4, generator=torch.Generator().manual_seed(5))
    x = torch.randn(count, 12, generator=g)
    return x, (x @ mix).argmax(1)


class Member:
    def __init__(self, rate, seed):
        torch.manual_seed(seed)
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
        self.rate = rate
        self.x, self.y = messages(800, seed)
        self.g = torch.Generator().manual_seed(seed)

    def improve(self, steps, batch):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=self.rate, momentum=0.9)
        for _ in range(steps):
            time.sleep(0.01)
            pick = torch.randint(0, len(self.x), (batch,), generator=self.g)
            loss = nn.functional.cross_entropy(self.net(self.x[pick]), self.y[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    @torch.no_grad()
    def score(self, held_out):
        x, y = held_out
        return (self.net(x).argmax(1) == y).float().mean().item()


class Population:
    def __init__(self, member, held_out, digits):
        self.member = member
        self.held_out = held_out
        self.digits = digits
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def scores(self):
        own = torch.tensor([self.member.score(self.held_out)])
        table = [torch.zeros(1) for _ in range(self.world)]
        dist.all_gather(table, own)
        return [round(value.item(), self.digits) for value in table]

    def winner(self, scores):
        """The best member; nobody gives up weights for others that are no better."""
        return max(range(self.world), key=lambda rank: (scores[rank], rank == self.rank))

    @torch.no_grad()
    def exploit(self, scores):
        best = self.winner(scores)
        rate = torch.tensor([self.member.rate])
        for p in self.member.net.parameters():
            dist.broadcast(p.data, src=best)
        dist.broadcast(rate, src=best)
        return best, rate.item()

    def explore(self, rate):
        self.member.rate = rate * (0.85, 1.0, 1.2, 0.95)[self.rank % 4]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--generations", type=int, default=200)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--digits", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    member = Member(rate=0.01 * (1 + rank), seed=20 + rank)
    population = Population(member, messages(250, seed=99), args.digits)
    for generation in range(args.generations):
        member.improve(args.steps, args.batch)
        scores = population.scores()
        if rank == 0:
            print(f"generation {generation}: {scores}", flush=True)
        best, rate = population.exploit(scores)
        population.explore(rate)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
