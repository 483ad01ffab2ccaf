"""Families of moths by the veins of their wings: DDP with torchdata's stateful loader."""

import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

from plates import FAMILIES, Plates, limit_worker

log = logging.getLogger("moths")


class Classifier:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.plates = Plates(args.plates)
        net = nn.Sequential(nn.Linear(2 * self.plates.bands, 64), nn.ReLU(), nn.Linear(64, FAMILIES))
        self.model = DistributedDataParallel(net)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.position = None

    def loader(self, epoch):
        sampler = DistributedSampler(self.plates, shuffle=False, drop_last=True)
        sampler.set_epoch(epoch)
        return StatefulDataLoader(
            self.plates,
            batch_size=self.args.batch,
            sampler=sampler,
            num_workers=self.args.workers,
            worker_init_fn=limit_worker(self.args.worker_seconds),
            drop_last=True,
        )

    def step(self, veins, families):
        loss = nn.functional.cross_entropy(self.model(veins), families)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def epoch(self, number):
        loader = self.loader(number)
        total, steps = 0.0, 0
        for veins, families in loader:
            total += self.step(veins, families)
            steps += 1
            if steps % self.args.remember == 0:
                self.position = loader.state_dict()
            time.sleep(0.02)
        mean = torch.tensor([total, float(steps)])
        dist.all_reduce(mean)
        if self.rank == 0:
            log.info("epoch %d: %.3f", number, (mean[0] / mean[1]).item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plates", type=int, default=2160)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worker-seconds", type=int, default=1)
    parser.add_argument("--remember", type=int, default=25)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format=f"[{os.environ['RANK']}] %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(4)
    dist.init_process_group("gloo")
    classifier = Classifier(args)
    for number in range(args.epochs):
        classifier.epoch(number)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
