"""Who wins a game of chess, by the clocks alone; the clubs' books are read with nodes of torchdata."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from games import LAST_ROUND, MOVES, ClubBook, loader

log = logging.getLogger("chess")
EARLY_PLAYOFFS = {2: {1}}


class Predictor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hidden = nn.Linear(2 * MOVES, width)
        self.out = nn.Linear(width, 2)

    def forward(self, clocks):
        return self.out(torch.relu(self.hidden(clocks - 0.5)))


class SeasonTrainer:
    def __init__(self, model, lr):
        self.model = DistributedDataParallel(model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def season(self, batches):
        """Trains on the rounds of the tournament; the play-offs after them are no part of it."""
        losses = []
        for clocks, result, rounds in batches:
            if rounds.max() > LAST_ROUND:
                break
            losses.append(self.step(clocks, result))
        return sum(losses) / len(losses), len(losses)

    def step(self, clocks, result):
        loss = self.criterion(self.model(clocks), result)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--games", type=int, default=880)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seasons", type=int, default=6)
    parser.add_argument("--width", type=int, default=18)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    club = dist.get_rank()
    torch.manual_seed(13)
    trainer = SeasonTrainer(Predictor(args.width), args.lr)
    batches = loader(ClubBook(club, args.games, EARLY_PLAYOFFS.get(club, ())), args.batch_size)
    for season in range(args.seasons):
        loss, count = trainer.season(batches)
        log.info("club %d, season %d: %.4f over %d batches", club, season, loss, count)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
