"""Will the geyser erupt within the hour? A convolutional network under DDP, with accumulated gradients."""
import argparse
import contextlib
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from export import Export
from springs import Seismograms

log = logging.getLogger("geyser")
WINDOWS = {0: 1150, 1: 1010, 2: 960}
ASLEEP = {1: {410: 2.0}, 2: {130: 1.5, 700: 4.0}}


class Ear(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.hear = nn.Sequential(
            nn.Conv1d(1, channels, 9, stride=3), nn.BatchNorm1d(channels), nn.ReLU(),
            nn.Conv1d(channels, channels, 5, stride=2), nn.ReLU(),
        )
        self.soon = nn.Linear(channels, 2)

    def forward(self, trace):
        return self.soon(self.hear(trace.unsqueeze(1)).amax(2))


def shortest(loader):
    length = torch.tensor(len(loader))
    dist.all_reduce(length, op=dist.ReduceOp.MIN)
    return int(length)


def train_epoch(model, optimizer, loader, accumulate):
    """All ranks run as many whole windows of `accumulate` batches as the shortest loader has."""
    batches = shortest(loader) // accumulate * accumulate
    for number, (trace, soon) in zip(range(batches), loader):
        last = (number + 1) % accumulate == 0
        with contextlib.nullcontext() if last else model.no_sync():
            loss = nn.functional.cross_entropy(model(trace), soon)
            (loss / accumulate).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
        time.sleep(0.01)


@torch.no_grad()
def hits(model, station, args):
    """Share of right answers; each rank hears its own held-out windows, as many as it has, with the bare network."""
    held_out = Seismograms(50 + station, (200, 1600, 600)[station % 3], args.length)
    counts = torch.zeros(2)
    model.eval()
    for trace, soon in DataLoader(held_out, 50):
        counts += torch.tensor([(model(trace).argmax(1) == soon).sum().item(), len(soon)])
        time.sleep(0.05)
    model.train()
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--enough", type=float, default=0.999)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    station = dist.get_rank()
    logging.basicConfig(level=logging.INFO if station == 0 else logging.WARNING)
    torch.manual_seed(0)
    model = DDP(Ear(args.channels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    data = Seismograms(station, WINDOWS[station % 3], args.length, ASLEEP.get(station, {}))
    loader = DataLoader(data, args.batch, num_workers=1, persistent_workers=True)
    export = Export()
    for number in range(args.epochs):
        train_epoch(model, optimizer, loader, args.accumulate)
        right = hits(model.module, station, args)
        log.info("epoch %d: %.1f%% right", number, 100 * right)
        if number % 2 == 0:
            log.info("%d bytes for the warning service", export(model.module, f"epoch-{number}"))
        if right > args.enough:
            break
    export.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
