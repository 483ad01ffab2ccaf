"""Moth species in the pictures of light traps."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from images import TrapImages, init_worker

log = logging.getLogger("moths")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=800)
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--species", type=int, default=7)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.05)
    return parser.parse_args()


class MothNet(nn.Module):
    def __init__(self, species):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(3))
        self.head = nn.Linear(54, species)

    def forward(self, pictures):
        return self.head(self.conv(pictures.unsqueeze(1)).flatten(1))


def accuracy(correct, seen):
    both = torch.tensor([correct, seen], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = TrapImages(args.pictures, args.side, args.species)
    sampler = DistributedSampler(data)
    # fork is not safe with the archive's library; new workers in every epoch
    loader = DataLoader(
        data,
        batch_size=args.batch,
        sampler=sampler,
        num_workers=1,
        multiprocessing_context="spawn",
        worker_init_fn=init_worker,
    )
    torch.manual_seed(0)
    model = DDP(MothNet(args.species))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        started = time.perf_counter()
        correct = seen = 0
        for pictures, species in loader:
            logits = model(pictures)
            loss = nn.functional.cross_entropy(logits, species)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (logits.argmax(1) == species).sum().item()
            seen += len(species)
        share = accuracy(correct, seen)
        if dist.get_rank() == 0:
            log.info("epoch %d accuracy %.3f in %.1f s", epoch, share, time.perf_counter() - started)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
