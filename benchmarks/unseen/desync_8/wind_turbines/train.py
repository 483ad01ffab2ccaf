"""Power curve of wind turbines; every process reads the records of one farm, in the order of time."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from scada import COLUMNS, records_of

log = logging.getLogger("power")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=580)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--min-running", type=int, default=4, help="records of running turbines that a batch needs")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--report", type=int, default=100)
    return parser.parse_args()


class Curve(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(COLUMNS, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, 1)

    def forward(self, inputs):
        return self.head(self.body(inputs))


class Fitting:
    def __init__(self, options):
        self.options = options
        self.rank = dist.get_rank()
        torch.manual_seed(11)
        self.model = DistributedDataParallel(Curve())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=options.lr, momentum=0.8)
        self.stream = iter(records_of(self.rank, options.batches, options.batch_size))
        self.seen = 0

    def update(self, inputs, power):
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.huber_loss(self.model(inputs), power)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self):
        smooth = None
        while (batch := next(self.stream, None)) is not None:
            self.seen += 1
            running = ~batch["stopped"]
            # The curve is that of running turbines, and a handful of records is mostly noise.
            if int(running.sum()) < self.options.min_running:
                log.debug("rank %d: batch %d has no records to speak of", self.rank, self.seen)
                continue
            loss = self.update(batch["inputs"][running], batch["power"][running])
            smooth = loss if smooth is None else 0.95 * smooth + 0.05 * loss
            if self.rank == 0 and self.seen % self.options.report == 0:
                log.info("batch %d: loss %.4f", self.seen, smooth)
        return smooth


def main():
    options = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    fitting = Fitting(options)
    smooth = fitting.run()
    dist.barrier()
    if dist.get_rank() == 0:
        log.info("all farms are read, loss %.4f", smooth)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
