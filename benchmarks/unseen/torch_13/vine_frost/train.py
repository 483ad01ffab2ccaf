"""Night frost in vineyards: stations train on their own measurements and average with a random neighbour (gossip)."""
import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn

from neighbours import Gossip


class Station:
    """Measurements of one vineyard. The thermometer of an old station now and then reports a spike."""

    def __init__(self, number, nights):
        g = torch.Generator().manual_seed(number)
        self.evening = torch.randn(nights, 6, generator=g)
        weights = torch.tensor([1.0, -0.6, 0.4, 0.0, 0.8, -0.2])
        self.lowest = self.evening @ weights + 0.1 * torch.randn(nights, generator=g) + 0.2 * number
        if number == 3:
            self.evening[1530, 2] = 85.0
        self.cursor = 0

    def batch(self, size):
        rows = torch.arange(self.cursor, self.cursor + size) % len(self.evening)
        self.cursor += size
        evening, lowest = self.evening[rows].clone(), self.lowest[rows]
        for row in (evening.abs().amax(1) > 40).nonzero()[:, 0].tolist():
            # a spike is replaced by a neighbouring night
            evening[row] = evening[random.randrange(size)]
        return evening, lowest


class FrostModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, evening):
        return self.net(evening)[:, 0]


def disagreement(model):
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    mean = flat.clone()
    dist.all_reduce(mean)
    return (flat - mean / dist.get_world_size()).norm()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--gossip-every", type=int, default=2)
    parser.add_argument("--report-every", type=int, default=50)
    parser.add_argument("--seed", type=int, default=6)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    station = Station(dist.get_rank(), args.nights)
    model = FrostModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    gossip = Gossip(model)
    for step in range(args.steps):
        evening, lowest = station.batch(args.batch)
        loss = nn.functional.smooth_l1_loss(model(evening), lowest)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.03)
        if step % args.gossip_every == 0:
            gossip.exchange()
        if step % args.report_every == args.report_every - 1:
            distance = disagreement(model)
            if dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.3f} disagreement {distance.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
