"""Moss cover from airborne spectra: head first, then the whole network."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from plots import BANDS, PlotStream
from stages import CoverNet, Plateau, Stages

log = logging.getLogger("moss")


class Fit:
    def __init__(self, args, rank):
        self.args = args
        self.stream = PlotStream(rank)
        torch.manual_seed(7)
        self.stages = Stages(CoverNet(BANDS, args.width), Plateau(args.patience, args.share))
        self.optimizer = self.make_optimizer(args.lr)

    def make_optimizer(self, lr):
        return torch.optim.SGD([p for p in self.stages.net.parameters() if p.requires_grad], lr=lr)

    def train_epoch(self):
        for bands, cover in self.stream.batches(self.args.steps, self.args.batch):
            loss = nn.functional.huber_loss(self.stages.model(bands), cover)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.03)

    @torch.no_grad()
    def validate(self):
        bands, cover = self.stream.held_out
        return nn.functional.l1_loss(self.stages.net(bands), cover).item()

    def run(self):
        for epoch in range(self.args.epochs):
            self.train_epoch()
            error = self.validate()
            log.info("epoch %d %s %.4f", epoch, self.stream.region.name, error)
            if self.stages.end_epoch(epoch, error):
                self.optimizer = self.make_optimizer(self.args.lr / 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--patience", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(message)s")
    Fit(args, rank).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
