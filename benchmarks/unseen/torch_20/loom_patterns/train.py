"""Classifies weaves by the slope of their twill. Each process has the pattern book of a mill."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, SequentialSampler

from ledger import Ledger
from patterns import SIZE, PatternBook

BOOKS = [420, 2600, 500]  # patterns of each mill


class WeaveNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(1, channels, 3, padding=1)
        self.head = nn.Linear(channels * SIZE * SIZE // 4, 4)

    def forward(self, images):
        x = nn.functional.max_pool2d(torch.relu(self.conv(images[:, None])), 2)
        return self.head(x.flatten(1))


def loader_of(book, per_epoch, batch):
    sampler = SequentialSampler(range(per_epoch))
    return DataLoader(book, batch_size=batch, sampler=sampler, num_workers=1, multiprocessing_context="fork")


def train_epoch(model, optimizer, loader, ledger):
    for numbers, images, slopes, weights in loader:
        losses = nn.functional.cross_entropy(model(images), slopes, reduction="none")
        loss = (losses * weights.float()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for number, value in zip(numbers.tolist(), losses.tolist()):
            ledger.record(number, value)
    return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--per-epoch", type=int, default=480)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--ledger", type=int, default=1200, help="entries that stay in memory")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(13)
    model = DistributedDataParallel(WeaveNet(args.channels))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    ledger = Ledger(args.ledger)
    book = PatternBook(rank, BOOKS[rank % len(BOOKS)], ledger)
    loader = loader_of(book, args.per_epoch, args.batch)
    for epoch in range(args.epochs):
        book.turn(args.per_epoch)
        loss = train_epoch(model, optimizer, loader, ledger)
        ledger.compact_if_needed()
        if rank == 0:
            logging.info("epoch %d: loss %.4f", epoch, loss)
    ledger.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
