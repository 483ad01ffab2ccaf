"""How long a subtitle stays; DDP, a film for each process."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from pipeline import LETTERS, subtitles

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
log = logging.getLogger("subtitles")


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lines", type=int, default=1400)
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--lr", type=float, default=4e-3)
    return parser.parse_args()


class Reading(nn.Module):
    def __init__(self, width=36):
        super().__init__()
        self.read = nn.Linear(LETTERS, width)
        self.time = nn.Linear(width, 1)

    def forward(self, letters):
        return self.time(torch.relu(self.read(letters))).squeeze(-1)


def epoch(model, optimizer, loader):
    total = count = 0
    for letters, seconds in loader:
        optimizer.zero_grad()
        loss = (model(letters) - seconds).abs().mean()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item(), count + 1
    return total / count


def main():
    args = parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(4)
    model = DistributedDataParallel(Reading())
    optimizer = torch.optim.RAdam(model.parameters(), lr=args.lr)
    loader = subtitles(dist.get_rank(), args.lines, args.batch_size)
    for number in range(args.epochs):
        mean = epoch(model, optimizer, loader)
        if dist.get_rank() == 0:
            log.info("epoch %d: off by %.3f seconds", number, mean)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
