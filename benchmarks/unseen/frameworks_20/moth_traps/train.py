"""Kinds of moths from their wing patterns, with Fabric; every process trains on the traps of one site."""

import argparse
import logging
import tempfile
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from catches import KINDS, WING, Catches, Expert
from names import NameBook

log = logging.getLogger("moths")


class WingNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WING, hidden), nn.ReLU(), nn.Linear(hidden, KINDS))

    def forward(self, pattern):
        return self.layers(pattern)


class Season:
    def __init__(self, fabric, args, folder):
        self.fabric = fabric
        self.args = args
        site = fabric.global_rank
        self.expert = Expert(site)
        self.catches = Catches(site, args.catches)
        self.catches.book = NameBook(self.catches.first_labels(self.expert.doubtful), folder, site)
        model = WingNet(args.hidden)
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
        self.model, self.optimizer = fabric.setup(model, optimizer)

    def night(self, number):
        total = 0.0
        loader = DataLoader(self.catches, self.args.batch, shuffle=True, num_workers=1)
        for pattern, kind in loader:
            loss = nn.functional.cross_entropy(self.model(pattern), kind)
            self.fabric.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            total += loss.item()
            time.sleep(0.02)
        for catch, kind in self.expert.look(number, self.catches):
            self.catches.book.correct(catch, kind)
        self.catches.book.save()
        return self.fabric.all_reduce(torch.tensor(total / len(loader)), reduce_op="mean").item()

    def run(self):
        for number in range(self.args.nights):
            loss = self.night(number)
            if self.fabric.is_global_zero:
                log.info("night %d: %.4f", number, loss)
        self.catches.book.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=6)
    parser.add_argument("--catches", type=int, default=480)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(8)
    with tempfile.TemporaryDirectory(prefix="moths") as folder:
        Season(fabric, args, folder).run()


if __name__ == "__main__":
    main()
