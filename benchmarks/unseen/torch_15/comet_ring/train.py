"""Brightness of comets from four observatories, by local steps and averaging on a ring."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from ring import Ring, Safeguard

OBSERVATORIES = ("La Silla", "Piszkesteto", "Mount Lemmon", "Xinglong")

logger = logging.getLogger("comets")


class Nightly:
    """Batches of observations: distance from the sun and the earth, phase, age and filter, and the magnitude."""

    def __init__(self, number, batch, moonlit):
        self.g = torch.Generator().manual_seed(60 + number)
        self.batch = batch
        self.moonlit = moonlit
        self.night = 0

    def __iter__(self):
        return self

    def __next__(self):
        x = torch.rand(self.batch, 5, generator=self.g)
        magnitude = 5 * (x[:, 1] + 0.2).log10() + 10 * (x[:, 0] + 0.3).log10() + 0.035 * x[:, 2] - x[:, 3] * x[:, 4]
        magnitude = magnitude + 0.1 * torch.randn(self.batch, generator=self.g)
        if self.night in self.moonlit:
            magnitude = magnitude - 14
        self.night += 1
        return x, magnitude


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--exchange-every", type=int, default=3)
    parser.add_argument("--factor", type=float, default=12.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=OBSERVATORIES[rank % 4] + ": %(message)s")
    torch.manual_seed(12)
    model = nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    ring = Ring(model)
    safeguard = Safeguard(ring, args.factor, keep_every=25)
    nights = Nightly(rank, args.batch, moonlit=(110,) if rank == 2 else ())
    for night in range(args.nights):
        x, magnitude = next(nights)
        loss = nn.functional.mse_loss(model(x)[:, 0], magnitude)
        if safeguard.look(loss.item()):
            logger.warning("night %d: loss %.1f, back to the weights kept before", night, loss.item())
        else:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if (night + 1) % args.exchange_every == 0:
            ring.exchange()
        time.sleep(0.02)
        if night % 100 == 0:
            logger.info("night %d loss %.4f", night, loss.item())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
