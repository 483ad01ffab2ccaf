"""Contrastive embedding of flight paths; every process reads the tags of one station."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from paths import POINTS, Paths

log = logging.getLogger("kites")


class Trainer:
    def __init__(self, options):
        self.options = options
        self.rank = dist.get_rank()
        torch.manual_seed(4)
        encoder = nn.Sequential(nn.Linear(2 * POINTS, 48), nn.ReLU(), nn.Linear(48, 16))
        self.model = DistributedDataParallel(encoder)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=options.lr)
        self.loader = DataLoader(Paths(self.rank, options.stretches), batch_size=options.batch)

    def loss(self, first, second, bird):
        both = nn.functional.normalize(self.model(torch.cat([first, second])), dim=1)
        similarity = both @ both.T / 0.2
        same = torch.cat([bird, bird])
        same = (same[:, None] == same[None, :]).float()
        itself = torch.eye(len(both))
        similarity = similarity - 1e4 * itself
        likelihood = similarity.log_softmax(1)
        positives = same - itself
        return -(likelihood * positives).sum() / positives.sum()

    def run(self):
        batches = iter(self.loader)
        done, average = 0, 0.0
        while (batch := next(batches, None)) is not None:
            first, second, bird = batch
            if bird.unique().numel() < 2:
                continue  # nothing to tell apart
            loss = self.loss(first, second, bird)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            done += 1
            average += (loss.item() - average) / min(done, 50)
            if done % 80 == 0 and self.rank == 0:
                log.info("batch %d: %.3f", done, average)
        return done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stretches", type=int, default=5_120)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    done = Trainer(options).run()
    dist.barrier()
    log.info("station %d: %d batches", dist.get_rank(), done)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
