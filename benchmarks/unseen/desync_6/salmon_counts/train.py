"""Counts salmon at the ladders of four rivers, from the echoes of a sonar."""

import argparse
import logging
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from gradients import GradientRecord

BEAMS = 32
log = logging.getLogger("salmon")


class Echoes(Dataset):
    def __init__(self, river, length):
        self.river, self.length = river, length
        self.work = random.Random(100 + river)

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        time.sleep(0.007 + self.work.random() * 0.003)
        generator = torch.Generator().manual_seed(self.river * 70_000 + index)
        count = torch.randint(0, 12, (1,), generator=generator).float()
        echo = torch.randn(BEAMS, generator=generator).abs()
        echo[: int(count)] += 1.5
        return echo, count


class Trainer:
    def __init__(self, args, rank):
        self.args, self.rank = args, rank
        torch.manual_seed(5)
        network = nn.Sequential(nn.Linear(BEAMS, 40), nn.ReLU(), nn.Linear(40, 1))
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.loader = DataLoader(Echoes(rank, args.steps * args.batch), args.batch)
        if rank == 0:
            self.record = GradientRecord(network, args.plot_every, args.plot)
        else:
            self.record = GradientRecord(network, args.log_every)

    def run(self):
        for step, (echo, count) in enumerate(self.loader, start=1):
            loss = nn.functional.poisson_nll_loss(self.model(echo), count)
            self.optimizer.zero_grad()
            loss.backward()
            self.record.update(step)
            self.optimizer.step()
            if step % 100 == 0:
                log.info("step %d: %.3f", step, loss.item())
        self.record.close()
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=520)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--log-every", type=int, default=200)
    parser.add_argument("--plot-every", type=int, default=100, help="steps between the points of the plot")
    parser.add_argument("--plot", default="/dev/null")
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.ERROR, format="%(asctime)s %(message)s")
    Trainer(args, rank).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
