"""Faults of street lamps from the current that they draw. The loss follows the confusions of the last epoch."""
import argparse
import datetime
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from weights import ClassWeights

FAULTS = ["none", "flicker", "dim", "dead", "daylight", "theft"]
# months in which a fault is reported at all
SEASON = {"theft": range(0, 5)}
log = logging.getLogger("lamps")


class Month:
    def __init__(self, month, rank, lamps):
        g = torch.Generator().manual_seed(100 * month + rank)
        self.fault = torch.randint(0, len(FAULTS), (lamps,), generator=g)
        for name, months in SEASON.items():
            if month not in months:
                self.fault[self.fault == FAULTS.index(name)] = 0
        shapes = torch.randn(len(FAULTS), 24, generator=torch.Generator().manual_seed(0))
        self.current = shapes[self.fault] + 0.9 * torch.randn(lamps, 24, generator=g)

    def batches(self, size):
        return zip(self.current.split(size), self.fault.split(size))


class Lamps(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, width), nn.GELU(), nn.LayerNorm(width))
        self.head = nn.Linear(width, len(FAULTS))

    def forward(self, current):
        return self.head(self.encoder(current))


def train_month(model, optimizer, month, batch, weight):
    confusion = torch.zeros(len(FAULTS), len(FAULTS))
    for current, fault in month.batches(batch):
        logits = model(current)
        loss = nn.functional.cross_entropy(logits, fault, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found = logits.argmax(1)
        confusion.index_put_((fault, found), torch.ones(len(fault)), accumulate=True)
        time.sleep(0.02)
    return confusion


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--lamps", type=int, default=960)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=2))
    torch.manual_seed(1)
    model = DistributedDataParallel(Lamps())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    weights = ClassWeights(len(FAULTS))
    for number in range(args.months):
        month = Month(number, dist.get_rank(), args.lamps)
        confusion = train_month(model, optimizer, month, args.batch, weights.current)
        current = weights.update(number, confusion)
        if dist.get_rank() == 0:
            accuracy = (confusion.trace() / confusion.sum()).item()
            log.info("month %d: %.3f, weights %s", number, accuracy, [round(w, 2) for w in current.tolist()])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
