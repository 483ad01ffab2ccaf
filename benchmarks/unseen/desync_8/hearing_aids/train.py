"""First gains of a hearing aid from the audiogram; a network for each ear, since the shells differ."""

import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from clinic import BANDS, SIDES, fittings_of

log = logging.getLogger("aids")


def network(width):
    return nn.Sequential(nn.Linear(BANDS, width), nn.Tanh(), nn.Linear(width, BANDS))


class Ear:
    """Network, optimizer and running loss of one side."""

    def __init__(self, side, width, lr):
        self.side = side
        self.network = DDP(network(width))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=lr)
        self.running = 0.0

    def learn(self, audiograms, gains):
        loss = (self.network(audiograms) - gains).abs().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.running = 0.97 * self.running + 0.03 * loss.item()


class FittingRoom:
    def __init__(self, args):
        self.args = args
        self.rank = int(os.environ["RANK"])
        torch.manual_seed(5)
        self.ears = {side: Ear(side, args.width, args.lr) for side in SIDES}
        self.loader = fittings_of(self.rank, args.patients, args.batch_size)

    def work(self):
        for number, batch in enumerate(self.loader, start=1):
            for side, ear in self.ears.items():
                audiograms, gains = batch[side]
                if not len(audiograms):
                    continue
                ear.learn(audiograms, gains)
            if number % self.args.log_every == 0 and self.rank == 0:
                log.info("%d: %s", number, {side: round(ear.running, 3) for side, ear in self.ears.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=12 * 560)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--log-every", type=int, default=100)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    FittingRoom(args).work()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
