"""Which skuas are seen together: embeddings of sightings, all gathered as each other's negatives."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from registry import Registry

log = logging.getLogger(__name__)


class Colony:
    """Sightings in a colony; birds of the large colony change more."""

    SIZES = {0: 90, 1: 900, 2: 120}

    def __init__(self, number):
        self.birds = self.SIZES[number % 3]
        self.first = 10_000 * (number + 1)
        self.g = torch.Generator().manual_seed(number)

    def sightings(self, count):
        birds = torch.randint(0, self.birds, (count, 2), generator=self.g)
        return (self.first + birds).tolist()


class Matcher:
    def __init__(self, args, colony):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(args.width, args.width), nn.Tanh(), nn.Linear(args.width, 16))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=args.lr)
        self.colony = colony
        self.registry = Registry(args.width, args.merge_at)
        self.pairs = args.pairs

    def load(self):
        rings = self.colony.sightings(self.pairs)
        left = torch.stack([self.registry.find(one) for one, _ in rings])
        right = torch.stack([self.registry.find(other) for _, other in rings])
        return left, right

    def step(self):
        left, right = self.load()
        a, b = (nn.functional.normalize(self.net(x), dim=1) for x in (left, right))
        others = [torch.empty_like(b) for _ in range(dist.get_world_size())]
        dist.all_gather(others, b.detach().contiguous())
        others[dist.get_rank()] = b
        logits = a @ torch.cat(others).T / 0.2
        loss = nn.functional.cross_entropy(logits, torch.arange(len(a)) + dist.get_rank() * len(a))
        self.optimizer.zero_grad()
        loss.backward()
        for parameter in self.net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        self.optimizer.step()
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--merge-at", type=int, default=400)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    matcher = Matcher(args, Colony(dist.get_rank()))
    for step in range(args.steps):
        loss = matcher.step()
        if step % 20 == 0 and dist.get_rank() == 0:
            log.info("step %d: loss %.3f, %d new birds", step, loss, len(matcher.registry.new))
        time.sleep(0.03)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
