"""Coral cover of reef transects. Three boats train on their own transects and exchange weights after each voyage."""
import argparse
import itertools
import time

import torch
import torch.distributed as dist
from torch import nn

from exchange import Exchange
from habitats import HabitatNet

# the legs of each boat's voyage, in the order in which it sails them
ROUTES = [
    ["lagoon", "lagoon", "crest", "slope"],
    ["lagoon", "crest", "crest", "slope"],
    ["lagoon", "slope", "slope", "crest"],
]
SLOPES = {"lagoon": 0.4, "crest": -0.7, "slope": 0.1}


def transects(boat):
    """Endless batches of (habitat, features, cover), leg by leg."""
    g = torch.Generator().manual_seed(300 + boat)
    for habitat in itertools.cycle(ROUTES[boat % len(ROUTES)]):
        for _ in range(6):
            x = torch.randn(32, 10, generator=g)
            cover = SLOPES[habitat] * x[:, 0] + 0.3 * torch.sin(x[:, 1]) + 0.05 * torch.randn(32, generator=g)
            yield habitat, x, cover


class Boat:
    def __init__(self, width, lr):
        torch.manual_seed(1)
        self.net = HabitatNet(10, width)
        self.lr = lr
        self.batches = transects(dist.get_rank())
        self.exchange = Exchange(self.net)

    def step(self):
        habitat, x, cover = next(self.batches)
        loss = nn.functional.mse_loss(self.net(x, habitat), cover)
        self.net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in self.net.parameters():
                if parameter.grad is not None:
                    parameter -= self.lr * parameter.grad
        return loss.item()

    def voyage(self, steps):
        loss = 0.0
        for _ in range(steps):
            loss += self.step()
            time.sleep(0.03)
        self.exchange()
        return loss / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voyages", type=int, default=15)
    parser.add_argument("--legs", type=int, default=8, help="legs of a voyage, of six transects each")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    boat = Boat(args.width, args.lr)
    for number in range(args.voyages):
        loss = boat.voyage(6 * args.legs)
        print(f"boat {dist.get_rank()} voyage {number}: {loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
