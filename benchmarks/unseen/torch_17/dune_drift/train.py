"""A local law of drift is learnt while the dune field is simulated in strips, one strip for each process."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from halo import HaloExchange
from wind import Calendar, Wind


def drift(padded, wind, columns):
    """Sand that a day's wind carries from each place to the right of it."""
    height = padded[:, columns:-columns]
    before = padded[:, columns - 1 : -columns - 1]
    after = padded[:, columns + 1 : padded.shape[1] - columns + 1]
    return wind * (torch.tanh(before) - torch.tanh(height)) + 0.1 * wind * (before - 2 * height + after)


class Law(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.Tanh(), nn.Conv2d(width, 1, 1))

    def forward(self, padded, wind):
        layers = torch.stack([padded, torch.full_like(padded, wind)])
        return self.net(layers[None])[0, 0]


class Strip:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        g = torch.Generator().manual_seed(self.rank)
        self.field = torch.rand(args.height, args.width, generator=g) * 2
        self.halo = HaloExchange(args.halo, args.height, tolerance=1e-7)
        self.wind = Wind()
        torch.manual_seed(0)
        self.law = Law(args.hidden)
        self.optimizer = torch.optim.Adam(self.law.parameters(), lr=3e-3)

    def day(self, day):
        wind = self.wind(day, self.rank, self.world)
        padded = self.halo(self.field)
        change = drift(padded, wind, self.args.halo)
        guess = self.law(padded, wind)[:, self.args.halo : -self.args.halo]
        loss = nn.functional.mse_loss(guess, change)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.field = self.field + change
        return loss.item()

    @torch.no_grad()
    def share(self):
        for parameter in self.law.parameters():
            dist.all_reduce(parameter)
            parameter /= self.world


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=600)
    parser.add_argument("--share-every", type=int, default=25)
    parser.add_argument("--height", type=int, default=24)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--halo", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    strip = Strip(args)
    calendar = Calendar(args.days, args.share_every)
    for day in calendar:
        loss = strip.day(day)
        time.sleep(args.pause)
        if calendar.shares(day):
            strip.share()
            if strip.rank == 0:
                print(f"day {day}: loss {loss:.6f}, {strip.halo.messages} exchanges", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
