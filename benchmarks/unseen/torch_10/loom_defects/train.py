"""Defects of woven cloth. The looms of a rank are done at different times, so training runs under Join."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

log = logging.getLogger("loom")


class LoomStream(IterableDataset):
    """Patches in the order in which the camera took them, until the roll is finished."""

    ROLLS = (420, 1300, 860, 380)

    def __init__(self, loom):
        self.loom = loom

    def __iter__(self):
        g = torch.Generator().manual_seed(self.loom)
        for _ in range(self.ROLLS[self.loom]):
            defect = int(torch.rand(1, generator=g) < 0.2)
            patch = torch.randn(1, 8, 8, generator=g)
            patch[0, 3] += 2.0 * defect
            yield patch, defect


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.norm = nn.GroupNorm(2, 8)
        self.head = nn.Linear(8 * 6 * 6, 2)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(0)
        self.model = DistributedDataParallel(Detector())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr)
        self.loader = DataLoader(LoomStream(self.rank), batch_size=args.batch_size)

    def shift(self, number):
        batches, total = 0, 0.0
        with Join([self.model]):
            for patches, defects in self.loader:
                loss = nn.functional.cross_entropy(self.model(patches), defects)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                batches += 1
                total += loss.item()
                time.sleep(0.06)
        report = torch.tensor([total, batches], dtype=torch.float64)
        dist.all_reduce(report)
        if self.rank == 0:
            log.info("shift %d: %d batches, loss %.4f", number, int(report[1]), report[0] / report[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shifts", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.05)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainer = Trainer(parser.parse_args())
    for number in range(trainer.args.shifts):
        trainer.shift(number)
    dist.barrier()
    dist.destroy_process_group()
