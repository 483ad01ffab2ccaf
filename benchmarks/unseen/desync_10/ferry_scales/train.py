"""Weights of lorries on ferries from the strain of the ramp; Fabric, one port for each process."""

import argparse
import logging

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from ramps import GAUGES, Crossings

log = logging.getLogger("ferries")


class Estimator:
    def __init__(self, fabric, lr):
        fabric.seed_everything(5, verbose=False)
        self.fabric = fabric
        network = nn.Sequential(nn.Linear(GAUGES, 28), nn.Tanh(), nn.Linear(28, 1))
        optimizer = torch.optim.Adam(network.parameters(), lr=lr)
        self.network, self.optimizer = fabric.setup(network, optimizer)
        self.fits = 0

    def fit(self, strain, weight):
        loss = nn.functional.smooth_l1_loss(self.network(strain).squeeze(1), weight)
        self.fabric.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.fits += 1
        return loss.item()

    def learn(self, batch):
        """A crossing with test weights on board is worth a step of its own."""
        strain, weight, tested = batch
        value = self.fit(strain, weight)
        if tested.any():
            self.fit(strain[tested], weight[tested])
        return value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crossings", type=int, default=2_520)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
    fabric.launch()
    estimator = Estimator(fabric, options.lr)
    port = Crossings(fabric.global_rank, options.crossings)
    loader = fabric.setup_dataloaders(DataLoader(port, batch_size=options.batch), use_distributed_sampler=False)
    for number, batch in enumerate(loader):
        value = estimator.learn(batch)
        if number % 90 == 0 and fabric.is_global_zero:
            log.info("%d: %.4f", number, value)
    fabric.barrier()
    log.info("port %d: %d fits", fabric.global_rank, estimator.fits)


if __name__ == "__main__":
    main()
