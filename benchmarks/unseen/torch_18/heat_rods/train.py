"""A network that corrects a coarse simulation of a heated rod.

The rod is simulated in pieces, each in a process of its own; the network sees a cell and its surroundings and is
the same for all pieces: parameters are averaged after every interval.
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn

from halo import Piece


class Correction(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, cells):
        padded = nn.functional.pad(cells[None, None], (1, 1), mode="replicate")[0, 0]
        return self.net(padded.unfold(0, 3, 1))[:, 0]


class Furnace:
    """Heat that is put into a piece, and what the probes on it measure."""

    def __init__(self, rank, cells, power, seed):
        g = torch.Generator().manual_seed(seed)
        self.profile = torch.rand(cells, generator=g) * power
        self.noise = g
        self.rank = rank

    def source(self, interval):
        return self.profile * (1 + 0.2 * ((interval + self.rank) % 7))

    def measured(self, cells):
        return cells - 0.002 * cells.square() + 0.01 * torch.randn(len(cells), generator=self.noise)


def conductivity(base, gain, cells):
    """The alloy conducts better when it is hot."""
    return base * (1 + gain * cells.mean().item())


def average(model):
    world = dist.get_world_size()
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data.div_(world)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--intervals", type=int, default=1500)
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--dx", type=float, default=0.1)
    parser.add_argument("--dt", type=float, default=0.01)
    parser.add_argument("--base", type=float, default=0.6)
    parser.add_argument("--gain", type=float, default=0.08)
    parser.add_argument("--fits", type=int, default=4)
    parser.add_argument("--width", type=int, default=24)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    model = Correction(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    piece = Piece(args.cells, args.dx)
    powers = [0.3, 0.6, 4.0, 0.4]
    furnace = Furnace(rank, args.cells, powers[rank % len(powers)], seed=rank)
    for interval in range(args.intervals):
        k = conductivity(args.base, args.gain, piece.cells)
        cells = piece.advance(k, furnace.source(interval), args.dt)
        target = furnace.measured(cells)
        for _ in range(args.fits):
            loss = nn.functional.mse_loss(cells + model(cells), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        average(model)
        if rank == 0 and interval % 50 == 0:
            print(f"interval {interval}: loss {loss.item():.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
