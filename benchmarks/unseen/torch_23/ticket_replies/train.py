"""Trains the reply classifier of a help desk on the features of a frozen, head-sharded encoder.

All processes read the same tickets in the same order and hold a part of the encoder's heads each.
"""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from attention import HeadShard
from prefixes import PrefixCache

WORDS, REPLIES = 200, 4


class Desk:
    """Tickets: a product, whose description is the prefix, and a question. New products come with the seasons."""

    def __init__(self, tickets, season, seed=2):
        self.tickets, self.season = tickets, season
        self.g = torch.Generator().manual_seed(seed)
        self.descriptions = torch.randint(0, WORDS, (24, 16), generator=self.g)

    def __iter__(self):
        for number in range(self.tickets):
            on_sale = 6 + 2 * (number // self.season)
            product = number % on_sale
            question = torch.randint(0, WORDS, (8,), generator=self.g)
            yield product, self.descriptions[product], question, (question.sum() + product) % REPLIES


class Encoder:
    def __init__(self, args):
        g = torch.Generator().manual_seed(1)
        self.words = torch.randn(WORDS, args.width, generator=g)
        self.attention = HeadShard(args.width, args.heads, args.head_width)
        self.prefixes = PrefixCache(args.cache_bytes)

    @torch.no_grad()
    def __call__(self, product, description, question):
        entry = self.prefixes.get(product, lambda: self.attention.prefill(self.words[description]))
        return self.attention.read(self.words[question], entry).mean(dim=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tickets", type=int, default=400)
    parser.add_argument("--season", type=int, default=72)
    parser.add_argument("--width", type=int, default=40)
    parser.add_argument("--heads", type=int, default=7)
    parser.add_argument("--head-width", type=int, default=8)
    parser.add_argument("--cache-bytes", type=int, default=24 * 1024)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.ERROR, format="%(message)s")
    encoder = Encoder(args)
    torch.manual_seed(5)
    classifier = nn.Sequential(nn.Linear(args.width, 32), nn.ReLU(), nn.Linear(32, REPLIES))
    optimizer = torch.optim.Adam(classifier.parameters(), lr=1e-3)
    for number, (product, description, question, reply) in enumerate(Desk(args.tickets, args.season)):
        features = encoder(product, description, question)
        loss = nn.functional.cross_entropy(classifier(features)[None], reply[None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 24 == 0:
            logging.info("ticket %d: loss %.3f, %d prefixes kept", number, loss.item(), len(encoder.prefixes))
        time.sleep(0.02)
    logging.info("%d hits, %d misses", encoder.prefixes.hits, encoder.prefixes.misses)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
