"""Letters from the arms of semaphores: torchdata nodes, one station's log per process."""

import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torchdata.nodes import Batcher, Loader, Mapper, Prefetcher

from receiver import ReceiverNode
from station import LETTERS, StationLog

log = logging.getLogger("semaphore")


def collate(samples):
    views, letters = zip(*samples)
    return torch.stack(views), torch.tensor(letters)


def make_loader(args, rank):
    node = ReceiverNode(StationLog(rank, args.entries), jitter=args.jitter)
    node = Batcher(node, args.batch, drop_last=True)
    node = Mapper(node, collate)
    return Loader(Prefetcher(node, prefetch_factor=4))


def train_epoch(model, optimizer, loader):
    right = torch.zeros(2)
    for views, letters in loader:
        logits = model(views)
        loss = nn.functional.cross_entropy(logits, letters)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += torch.tensor([(logits.argmax(-1) == letters).sum(), len(letters)])
    dist.all_reduce(right)
    return (right[0] / right[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--jitter", type=float, default=6.0)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(2)
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, LETTERS)))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = make_loader(args, rank)
    for epoch in range(args.epochs):
        accuracy = train_epoch(model, optimizer, loader)
        if rank == 0:
            log.info("epoch %d: %.3f of the letters", epoch, accuracy)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
