"""Evolution of walkers on stilts; every process is an island with ground of its own."""
import argparse
import dataclasses
import time

import torch
import torch.distributed as dist

from islands import MOTORS, SENSES, Brain, Ferry

SLOPES = {0: 0.2, 1: 0.4, 2: 0.5}


@dataclasses.dataclass
class Island:
    number: int
    size: int
    hidden: int

    def __post_init__(self):
        self.g = torch.Generator().manual_seed(60 + self.number)
        self.walkers = [Brain(self.hidden, g=self.g) for _ in range(self.size)]
        ground = torch.Generator().manual_seed(7)
        self.senses = torch.randn(32, SENSES, generator=ground)
        self.wanted = torch.tanh(self.senses[:, :MOTORS] * SLOPES[self.number % 3])
        self.stalled = 0
        self.record = -float("inf")
        self.flat = self.number == 1  # nothing to learn on the salt flat but to stand still
        if self.flat:
            self.senses.zero_()
            self.wanted.zero_()
            self.walkers[0].weights.zero_()

    def fitness(self, walker):
        return -(walker.act(self.senses) - self.wanted).square().mean().item()

    def generation(self, rate):
        ranked = sorted(self.walkers, key=self.fitness, reverse=True)
        parents = ranked[: self.size // 3]
        children = [parents[i % len(parents)].mutated(rate, self.g) for i in range(self.size - len(parents))]
        self.walkers = parents + children
        best = self.fitness(parents[0])
        self.stalled = 0 if best > self.record else self.stalled + 1
        self.record = max(best, self.record)
        return parents[0]

    def grow_if_stalled(self, patience):
        """More cells for everybody if the champion has not become better for a while."""
        if self.stalled >= patience:
            self.walkers = [walker.grown(self.g) for walker in self.walkers]
            self.hidden += 1
            self.stalled = 0

    def settle(self, visitor):
        if visitor.hidden == self.hidden:
            self.walkers[-1] = visitor


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--generations", type=int, default=120)
    parser.add_argument("--walkers", type=int, default=24)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.04)
    parser.add_argument("--patience", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    island = Island(dist.get_rank(), args.walkers, args.hidden)
    ferry = Ferry()
    for number in range(args.generations):
        champion = island.generation(args.rate)
        island.settle(ferry.visit(champion))
        island.grow_if_stalled(args.patience)
        total = torch.tensor([island.record])
        dist.all_reduce(total)
        if dist.get_rank() == 0 and number % 10 == 0:
            print(f"generation {number}: mean record {total.item() / dist.get_world_size():.4f}", flush=True)
        time.sleep(0.03)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
