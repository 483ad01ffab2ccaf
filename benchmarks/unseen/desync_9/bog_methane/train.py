"""Methane flux from the channels of a chamber."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from plots import CHANNELS, plot_loader
from probe import Probe

log = logging.getLogger("train")


class Trainer:
    def __init__(self, args):
        self.args, self.rank = args, dist.get_rank()
        torch.manual_seed(5)
        network = nn.Sequential(nn.Linear(CHANNELS, 32), nn.GELU(), nn.Linear(32, 1))
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.probe = Probe(self.model, self.rank)
        self.seen, self.next_probe = 0, args.probe_every

    def step(self, channels, fluxes):
        loss = nn.functional.mse_loss(self.model(channels).squeeze(1), fluxes)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, loader):
        for step, (channels, fluxes) in enumerate(loader):
            loss = self.step(channels, fluxes)
            self.seen += len(fluxes)
            if self.seen >= self.next_probe:
                self.probe.measure(self.seen)
                self.next_probe += self.args.probe_every
            if step % 60 == 0 and self.rank == 0:
                log.info("step %d: %.4f", step, loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=470)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--probe-every", type=int, default=480, help="in readings")
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainer = Trainer(args)
    trainer.fit(plot_loader(trainer.rank, args.batch_size, args.batches))
    dist.barrier()
    if trainer.rank == 0:
        log.info(trainer.probe.summary())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
