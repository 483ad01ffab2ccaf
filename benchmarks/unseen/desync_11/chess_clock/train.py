"""How long a player will think about a move, learnt from the archives of several chess sites."""

import logging
import os
from argparse import ArgumentParser

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from games import INPUTS, Archive
from schedule import Exchange

log = logging.getLogger(__name__)


class ThinkingTime(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(INPUTS, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, positions):
        return self.layers(positions).squeeze(1)


def log_error(predicted, batch):
    weight = torch.where(batch.bullet, 0.1, 1.0)
    return (weight * (predicted - batch.seconds.log1p()).square()).mean()


def train(model, optimizer, loader, exchange, report):
    average = 0.0
    for number, batch in enumerate(loader):
        due = exchange.is_due(batch)
        with exchange.context(due):
            loss = log_error(model(batch.positions), batch)
            loss.backward()
        if due:
            optimizer.step()
            optimizer.zero_grad()
        average += (loss.item() - average) / (number + 1)
        if report and number % 100 == 0:
            log.info("round %d: %.4f", number, average)
    return average


def main():
    parser = ArgumentParser()
    parser.add_argument("--rounds", type=int, default=800)
    parser.add_argument("--lr", type=float, default=0.01)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    torch.manual_seed(64)
    model = DDP(ThinkingTime())
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.8)
    loader = DataLoader(Archive(rank, options.rounds), batch_size=None)
    exchange = Exchange(model)
    average = train(model, optimizer, loader, exchange, report=rank == 0)

    summary = [None] * dist.get_world_size()
    dist.all_gather_object(summary, (rank, round(average, 4), exchange.saved))
    if rank == 0:
        for site, error, saved in summary:
            log.info("site %d: error %.4f, %d exchanges saved", site, error, saved)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
