"""Styles of rune stones from card indexes: two drawers, each read by a pair of tensor-parallel processes."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from corpus import FEATURES, STYLES, CardIndex, encode
from network import StyleNet, local_gradient, split

logger = logging.getLogger("runes")


class Trainer:
    def __init__(self, args):
        self.args = args
        self.mesh = init_device_mesh("cpu", (2, args.tensor), mesh_dim_names=("data", "tensor"))
        self.data_group = self.mesh.get_group("data")
        torch.manual_seed(args.seed)
        self.network = split(StyleNet(FEATURES, STYLES), self.mesh["tensor"])
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=args.lr, foreach=False)
        drawer = self.mesh.get_local_rank("data")
        self.train_cards = CardIndex(drawer, args.cards)
        self.test_cards = CardIndex(10 + drawer, 160)
        self.unread = 0

    def average_gradients(self):
        gradients = [local_gradient(p) for p in self.network.parameters()]
        flat = torch.cat([g.reshape(-1) for g in gradients])
        dist.all_reduce(flat, group=self.data_group)
        flat /= self.mesh["data"].size()
        for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients])):
            gradient.copy_(part.view_as(gradient))

    def step(self, cards):
        x, style = encode(cards)
        loss = nn.functional.cross_entropy(self.network(x), style)
        self.optimizer.zero_grad()
        loss.backward()
        self.average_gradients()
        self.optimizer.step()
        return loss.item()

    def epoch(self, number):
        running = 0.0
        for index, cards in enumerate(self.train_cards.batches(self.args.batch)):
            try:
                running = 0.95 * running + 0.05 * self.step(cards)
            except ValueError as problem:
                self.unread += 1
                logger.warning("cards %d to %d: %s", cards[0].number, cards[-1].number, problem)
            time.sleep(0.02)
            if index % 40 == 0:
                logger.info("epoch %d batch %d loss %.3f", number, index, running)

    @torch.no_grad()
    def test(self):
        totals = torch.zeros(2)
        for cards in self.test_cards.batches(self.args.batch):
            features, labels = encode(cards)
            totals[0] += (self.network(features).argmax(1) == labels).sum()
            totals[1] += len(cards)
        dist.all_reduce(totals)
        return (totals[0] / totals[1]).item()

    def run(self):
        for number in range(self.args.epochs):
            self.epoch(number)
            accuracy = self.test()
            logger.info("epoch %d accuracy %.3f, %d batches not read", number, accuracy, self.unread)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tensor", type=int, default=2)
    parser.add_argument("--cards", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING)
    Trainer(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
