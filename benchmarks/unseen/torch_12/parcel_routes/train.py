"""Minutes that a parcel route takes, with gradients accumulated over several depots' batches."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from accumulate import Accumulator


class Depot:
    """Routes of one depot in batches; from the third week some addresses are unknown at some depots."""

    def __init__(self, rank, batches, size):
        self.rank = rank
        self.batches = batches
        self.size = size

    def unknown(self, week, index):
        return 3 if week >= 3 and self.rank == 2 and index % 4 == 1 else 0

    def week(self, week):
        g = torch.Generator().manual_seed(1000 * week + self.rank)
        for index in range(self.batches):
            x = torch.randn(self.size, 14, generator=g)
            y = x[:, :4].sum(1) + x[:, 4] * x[:, 5]
            known = self.size - self.unknown(week, index)
            yield x[:known], y[:known]


class RouteNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(14, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def minutes(model, batch):
    x, y = batch
    return nn.functional.smooth_l1_loss(model(x), y)


def summary(week, losses, updates):
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, (sum(losses) / len(losses), updates))
    if dist.get_rank() == 0:
        print(f"week {week}: " + ", ".join(f"{loss:.3f} ({count})" for loss, count in rows), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weeks", type=int, default=40)
    parser.add_argument("--batches", type=int, default=48)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--stops", type=int, default=64)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(RouteNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    accumulator = Accumulator(model, optimizer, args.stops)
    depot = Depot(dist.get_rank(), args.batches, args.batch)
    for week in range(args.weeks):
        losses = []
        for batch in depot.week(week):
            time.sleep(0.015)
            losses.append(accumulator.backward(minutes, batch))
        summary(week, losses, accumulator.updates)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
