"""Evolution strategies for cranes that unload ships: every process tries its own perturbations of the schedule."""
import argparse
import logging

import torch
import torch.distributed as dist

import meeting

logger = logging.getLogger("cranes")


class Quay:
    """Ships with containers of different weights; the schedule is a linear score of a container and a crane."""

    def __init__(self, ships, containers, cranes, seed):
        g = torch.Generator().manual_seed(seed)
        self.weights = torch.rand(ships, containers, generator=g) * 20 + 2
        self.depth = torch.rand(ships, containers, generator=g)
        self.reach = torch.linspace(0.2, 1.0, cranes)

    def makespan(self, schedule):
        features = torch.stack([self.weights / 22, self.depth, torch.ones_like(self.depth)], -1)
        scores = features @ schedule.view(3, -1)
        crane = scores.argmax(-1)
        effort = self.weights * (1 + (self.depth - self.reach[crane]).abs())
        load = torch.zeros(len(effort), len(self.reach)).scatter_add_(1, crane, effort)
        return load.max(1).values.mean()


class Strategy:
    def __init__(self, size, sigma, rate):
        self.centre = torch.zeros(size)
        self.sigma = sigma
        self.rate = rate

    def generation(self, quay, trials, g):
        noise = torch.randn(trials, len(self.centre), generator=g)
        cost = torch.stack([quay.makespan(self.centre + self.sigma * n) - quay.makespan(self.centre - self.sigma * n)
                            for n in noise])
        step = (cost / (cost.std() + 1e-6)) @ noise / trials
        dist.all_reduce(step)
        self.centre -= self.rate * step / dist.get_world_size()
        return quay.makespan(self.centre)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", default="quay-east")
    parser.add_argument("--revision", default="r7")
    parser.add_argument("--generations", type=int, default=200)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--cranes", type=int, default=4)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    notes = meeting.meet(meeting.JobAddress(args.job, args.revision))
    rank = dist.get_rank()
    quay = Quay(ships=30, containers=24, cranes=args.cranes, seed=rank)
    strategy = Strategy(3 * args.cranes, sigma=0.2, rate=0.1)
    g = torch.Generator().manual_seed(100 + rank)
    for generation in range(args.generations):
        cost = strategy.generation(quay, args.trials, g)
        if generation % 20 == 0:
            meeting.note(notes, f"cost/{rank}", float(cost))
            logger.info("generation %d: makespan %.2f", generation, cost)
    meeting.leave()


if __name__ == "__main__":
    main()
