"""The age of carpets by the colour of their dyes, with Accelerate: a network for the warp and one for the weft.

The networks are small and share their batches, so they are not wrapped; each has a process group of its own, in which the
program averages its gradients as soon as they are there.
"""

import argparse
import time

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from carpets import BANDS, Carpets, dated


def network(hidden):
    return nn.Sequential(nn.Linear(BANDS, hidden), nn.Tanh(), nn.Linear(hidden, 1), nn.Flatten(0))


class Threads:
    """The two networks, their optimizers and their groups."""

    def __init__(self, accelerator, hidden, lr):
        self.accelerator = accelerator
        self.networks = {"warp": network(hidden), "weft": network(hidden)}
        self.groups = {name: dist.new_group() for name in self.networks}
        self.optimizers = {
            name: accelerator.prepare(torch.optim.Adam(net.parameters(), lr=lr)) for name, net in self.networks.items()
        }

    def average(self, name):
        gradients = [parameter.grad for parameter in self.networks[name].parameters()]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat, group=self.groups[name])
        flat /= self.accelerator.num_processes
        for gradient, part in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(part.view_as(gradient))

    def step(self, bands, ages):
        losses = {name: nn.functional.mse_loss(net(bands), ages[name]) for name, net in self.networks.items()}
        # what is furthest off is brought home first
        for name in sorted(losses, key=lambda name: losses[name].item(), reverse=True):
            self.optimizers[name].zero_grad()
            self.accelerator.backward(losses[name])
            self.average(name)
            self.optimizers[name].step()
        return {name: loss.item() for name, loss in losses.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--knots", type=int, default=4800)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(15)
    accelerator = Accelerator(cpu=True)
    carpets = Carpets(args.knots, stained=range(2008, 2014))
    accelerator.print(carpets.described(), dated(carpets, range(3)), flush=True)
    loader = accelerator.prepare(DataLoader(carpets, args.batch))
    threads = Threads(accelerator, args.hidden, args.lr)
    for epoch in range(args.epochs):
        sums = torch.zeros(2)
        for bands, warp, weft in loader:
            losses = threads.step(bands, {"warp": warp, "weft": weft})
            sums += torch.tensor([losses["warp"], losses["weft"]])
            time.sleep(0.03)
        means = accelerator.reduce(sums / len(loader), reduction="mean")
        accelerator.print(f"epoch {epoch}: warp {means[0]:.3f} weft {means[1]:.3f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
