"""Tissue types from tiles of microscope slides; each process has a slide of its own."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from pantry import Pantry, Slide

log = logging.getLogger("slides")


class TileNet(nn.Module):
    def __init__(self, channels=8, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 3, stride=2, padding=1),
            nn.GroupNorm(2, channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels * 2, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(channels * 2, classes)

    def forward(self, tiles):
        return self.head(self.features(tiles))


def batches(count, size, seed):
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()
    return [order[i : i + size] for i in range(0, count - size + 1, size)]


def append_scan(slide, seed, cut):
    """The second pass of the scanner, added while the first is already in use."""
    scan = Slide(seed, 160, slide.side)
    if cut is not None:
        scan.blobs[cut] = scan.blobs[cut][: len(scan.blobs[cut]) // 2]
    slide.blobs.extend(scan.blobs)
    slide.labels = torch.cat([slide.labels, scan.labels])


def train_epoch(model, optimizer, pantry, plan):
    losses = []
    pantry.announce(plan[0])
    for step, indices in enumerate(plan):
        if step + 1 < len(plan):
            pantry.announce(plan[step + 1])
        time.sleep(0.03)
        tiles, labels = zip(*(pantry.fetch(i) for i in indices))
        loss = nn.functional.cross_entropy(model(torch.stack(tiles)), torch.stack(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiles", type=int, default=320)
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--second-scan", type=int, default=2, help="epoch from which on there is a second scan")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    slide = Slide(rank, args.tiles, args.side)
    pantry = Pantry(slide)
    torch.manual_seed(0)
    model = DistributedDataParallel(TileNet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(args.epochs):
        if epoch == args.second_scan:
            append_scan(slide, 50 + rank, cut=77 if rank == 2 else None)
        plan = batches(len(slide.blobs), args.batch, seed=epoch)
        mean = torch.tensor(train_epoch(model, optimizer, pantry, plan))
        dist.all_reduce(mean)
        if rank == 0:
            log.info("epoch %d: %.3f", epoch, mean.item() / dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
