"""Guesses the age group of an author from the words of a post. Every process reads a board of its own."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from exchange import GradientExchange
from posts import GROUPS, WORDS, Board


class AgeModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, width, mode="mean")
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, GROUPS)

    def forward(self, words):
        return self.out(torch.tanh(self.hidden(self.words(words))))


class Trainer:
    def __init__(self, args, board):
        torch.manual_seed(args.seed)
        self.model = AgeModel(args.width)
        for parameter in self.model.parameters():
            dist.broadcast(parameter.data, src=0)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.exchange = GradientExchange(self.model.parameters(), args.rows)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, len(board))
        self.board = board
        self.right = self.seen = 0

    def step(self, words, group):
        logits = self.model(words)
        loss = nn.functional.cross_entropy(logits, group, label_smoothing=0.05)
        self.optimizer.zero_grad()
        loss.backward()
        self.exchange()
        self.optimizer.step()
        self.schedule.step()
        self.right += int((logits.argmax(1) == group).sum())
        self.seen += len(group)

    def fit(self):
        for index, (words, group) in enumerate(self.board):
            self.step(words, group)
            if index % 40 == 39:
                logging.info("page %d: %.1f%% right, %d values sent", index + 1, 100 * self.right / self.seen,
                             self.exchange.sent)
                self.right = self.seen = 0
            time.sleep(0.025)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--seed", type=int, default=12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(message)s")
    trainer = Trainer(args, Board(rank, args.pages, args.batch))
    trainer.fit()
    total = torch.tensor([trainer.exchange.sent])
    dist.all_reduce(total)
    logging.info("%d values sent in all", total.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
