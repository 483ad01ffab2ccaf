"""Avalanche counts of three warning regions; the step size follows the errors of the held-out weeks."""
import argparse
import collections
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from records import LEVELS, MEASURES, Winter

log = logging.getLogger("avalanches")
REGIONS = ("north", "south", "inner")


class Errors:
    """Absolute errors by level of danger; quantiles need those of all processes."""

    def __init__(self):
        self.by_level = collections.defaultdict(list)

    def add(self, level, values):
        for index, value in zip(level.tolist(), values.tolist()):
            self.by_level[LEVELS[index]].append(value)

    def pooled(self, name):
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, self.by_level[name])
        return torch.tensor([value for part in parts for value in part])

    def quantiles(self, q):
        found = {}
        for name in LEVELS:
            if not self.by_level[name]:
                # no quantile of nothing
                continue
            found[name] = torch.quantile(self.pooled(name), q).item()
        return found


class Season:
    def __init__(self, args):
        self.args = args
        rank = dist.get_rank()
        self.winter = Winter(REGIONS[rank % len(REGIONS)], args.days, seed=20 + rank)
        torch.manual_seed(1)
        network = nn.Sequential(nn.Linear(MEASURES, args.width), nn.SiLU(), nn.Linear(args.width, args.width), nn.SiLU(), nn.Linear(args.width, 1))
        self.model = DDP(network)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.5, patience=2)

    def train_epoch(self):
        self.model.train()
        for x, y in self.winter.batches(self.args.batch):
            prediction = self.model(x)[:, 0]
            loss = nn.functional.smooth_l1_loss(prediction, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.02)

    @torch.no_grad()
    def check(self, week):
        self.model.eval()
        errors = Errors()
        x, y, level = self.winter.week(week)
        errors.add(level, (self.model.module(x)[:, 0] - y).abs())
        return errors.quantiles(self.args.quantile)

    def run(self):
        for week in range(self.args.weeks):
            self.train_epoch()
            quantiles = self.check(week)
            self.schedule.step(max(quantiles.values()))
            log.info("week %d: %s", week, {name: round(value, 3) for name, value in quantiles.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=10)
    parser.add_argument("--days", type=int, default=1600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--quantile", type=float, default=0.9)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING)
    Season(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
