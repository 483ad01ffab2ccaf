"""Brands of shoe soles: a network in three stages, one per process, with all forwards before all backwards."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from link import Link
from scans import BRANDS, SIDE, Conveyor

log = logging.getLogger("soles")


class Stage:
    def __init__(self, args, network):
        self.args = args
        self.network = network
        self.chunks = args.tray // args.chunk
        self.optimizer = torch.optim.SGD(network.parameters(), lr=args.lr, momentum=0.9)

    def finish(self):
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimizer.step()
        self.optimizer.zero_grad()


class FirstStage(Stage):
    def __init__(self, args):
        super().__init__(args, nn.Sequential(nn.Linear(SIDE * SIDE, args.width), nn.ReLU()))
        self.next = Link(1, args.width)

    def step(self, tray):
        kept = tray.scans.abs().amax(1) > 0
        scans, brands = tray.scans[kept], tray.brands[kept]
        outputs = []
        for part, names in zip(scans.split(self.args.chunk), brands.split(self.args.chunk)):
            outputs.append(self.network(part))
            self.next.send_batch(outputs[-1], names)
        for produced in outputs:
            produced.backward(self.next.receive_gradient(produced))
        self.finish()


class MiddleStage(Stage):
    def __init__(self, args):
        super().__init__(args, nn.Sequential(nn.Linear(args.width, args.width), nn.ReLU()))
        self.previous, self.next = Link(0, args.width), Link(2, args.width)

    def step(self, tray):
        pairs = []
        for index in range(self.chunks):
            hidden, brands = self.previous.receive_batch()
            pairs.append((hidden, self.network(hidden)))
            self.next.send_batch(pairs[index][1], brands)
        for hidden, output in pairs:
            output.backward(self.next.receive_gradient(output))
            self.previous.send_gradient(hidden.grad)
        self.finish()


class LastStage(Stage):
    def __init__(self, args):
        super().__init__(args, nn.Linear(args.width, BRANDS))
        self.previous = Link(1, args.width)
        self.hits = self.count = 0

    def step(self, tray):
        work = []
        for _ in range(self.chunks):
            hidden, brands = self.previous.receive_batch()
            logits = self.network(hidden)
            work.append((hidden, nn.functional.cross_entropy(logits, brands)))
            self.hits += (logits.argmax(1) == brands).sum().item()
            self.count += len(brands)
        for hidden, loss in work:
            (loss / self.chunks).backward()
            self.previous.send_gradient(hidden.grad)
        self.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trays", type=int, default=200)
    parser.add_argument("--tray", type=int, default=16, help="places of a tray")
    parser.add_argument("--chunk", type=int, default=4, help="scans of a micro-batch")
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(dist.get_rank())
    stage = (FirstStage, MiddleStage, LastStage)[dist.get_rank()](args)
    for number, tray in enumerate(Conveyor(args.trays, args.tray, seed=6)):
        stage.step(tray)
        time.sleep(0.02)
        if isinstance(stage, LastStage) and number % 40 == 39:
            log.info("tray %d: %.3f of the soles right", number, stage.hits / stage.count)
            stage.hits = stage.count = 0
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
