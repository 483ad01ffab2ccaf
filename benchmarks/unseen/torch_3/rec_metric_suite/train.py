"""Two-tower retrieval with in-batch softmax and segmented evaluation."""
import argparse
import functools
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from metrics import MRR, Recall, SegmentedSuite

FACTORIES = {"recall@5": functools.partial(Recall, 5), "mrr": MRR}


@dataclass
class Interactions:
    """Sorted by day. Users of the newest segment have signed up only recently."""

    rank: int
    users: int = 90
    items: int = 60
    markets: tuple = (0.30, 0.0, 0.25)

    def day(self, day, rows=48):
        gen = torch.Generator().manual_seed(100 * self.rank + day)
        user = torch.randint(0, self.users, (rows,), generator=gen)
        item = (user * 7 + torch.randint(0, 3, (rows,), generator=gen)) % self.items
        segment = torch.arange(rows) % 2
        if day >= 3:
            newcomers = int(rows * self.markets[self.rank % 3])
            segment[:newcomers] = 2
        return user, item, segment


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=16):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, user):
        return self.proj(self.user(user)) @ self.item.weight.T


def evaluate(net, batch):
    user, item, segment = batch
    suite = SegmentedSuite(FACTORIES)
    with torch.no_grad():
        for rows in torch.arange(len(user)).split(16):
            suite.update(segment[rows], net(user[rows]), item[rows])
    values = suite.compute()
    dist.barrier()
    return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    log = Interactions(rank)
    model = DDP(TwoTower(log.users, log.items))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for day in range(args.days):
        user, item, _ = log.day(day)
        for rows in torch.randperm(len(user)).split(8):
            loss = F.cross_entropy(model(user[rows]), item[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.03)
        values = evaluate(model.module, log.day(day + 1))
        if rank == 0:
            print(f"day {day}", {k: round(v, 3) for k, v in values.items()}, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
