"""Detects damaged parcels by the force curve of the scales. One process for each depot, trained day by day."""
import argparse
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from data import control_sample, training_day
from report import DamageReport


class CurveNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv1d(1, channels, 5, padding=2)
        self.mix = nn.Conv1d(channels, channels, 3, padding=1)
        self.head = nn.Linear(channels, 1)

    def forward(self, curves):
        x = torch.relu(self.conv(curves[:, None]))
        x = torch.relu(self.mix(x))
        return self.head(x.amax(dim=2)).squeeze(1)


def train_day(net, optimizer, loader):
    criterion = nn.BCEWithLogitsLoss()
    net.train()
    for _, curves, damaged in loader:
        loss = criterion(net(curves), damaged.float())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
    return loss.item()


@torch.no_grad()
def control(net, loader, report):
    net.eval()
    report.reset()
    for numbers, curves, damaged in loader:
        scores = net.module(curves).sigmoid()
        report.add(numbers, scores, damaged)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--channels", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--lr", type=float, default=0.004)
    options = parser.parse_args(argv)

    torch.set_num_threads(1)
    dist.init_process_group(backend="gloo")
    depot = dist.get_rank()
    torch.manual_seed(11)
    net = DistributedDataParallel(CurveNet(options.channels))
    optimizer = torch.optim.Adam(net.parameters(), lr=options.lr)
    report = DamageReport()
    for day in range(options.days):
        loader = DataLoader(training_day(depot, day), batch_size=options.batch_size, shuffle=True)
        loss = train_day(net, optimizer, loader)
        control(net, DataLoader(control_sample(depot, day), batch_size=60), report)
        result = report.close_day(day)
        if depot == 0:
            print(f"day {day}: loss {loss:.4f} {result}", file=sys.stderr, flush=True)
    if depot == 0:
        print(report.summary())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
