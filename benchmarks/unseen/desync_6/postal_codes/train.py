"""Reads postal codes, with Accelerate; what the camera cannot read is replaced by what it read before."""

import argparse
import logging

import torch
from accelerate import Accelerator
from torch import nn

from letters import DIGITS, PIXELS, Camera, envelopes

log = logging.getLogger("post")


class Sorter:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        torch.manual_seed(8)
        network = nn.Sequential(nn.Linear(PIXELS, 40), nn.ReLU(), nn.Linear(40, DIGITS))
        self.model, self.optimizer, self.loader = self.accelerator.prepare(
            network,
            torch.optim.SGD(network.parameters(), lr=args.lr, momentum=0.9),
            envelopes(args.envelopes, args.batch),
        )
        self.camera = Camera()
        self.last = None

    def readable(self, image, digit):
        read = self.camera.read(image)
        if read is None and self.last is not None:
            log.warning("process %d: a batch is replaced", self.accelerator.process_index)
            return self.last
        self.last = (read, digit)
        return self.last

    def train(self):
        for number, (image, digit) in enumerate(self.loader):
            image, digit = self.readable(image, digit)
            loss = nn.functional.cross_entropy(self.model(image), digit)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if number % 50 == 0:
                self.accelerator.print(f"batch {number}: {loss.item():.3f}", flush=True)
        given_up = torch.tensor([self.camera.given_up])
        return self.accelerator.reduce(given_up, reduction="sum").item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--envelopes", type=int, default=12_000)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.WARNING)
    sorter = Sorter(args)
    replaced = sorter.train()
    sorter.accelerator.print(f"{replaced} batches were replaced")
    sorter.accelerator.end_training()


if __name__ == "__main__":
    main()
