"""What is paid at an hour of the day: an effect of the hour that all cities share, and a level of the city's own."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from occupancy import HOURS, Occupancy


class City:
    """Tickets of the parking meters of a city, a day at a time."""

    def __init__(self, rank, seed=400):
        self.rank = rank
        self.generator = torch.Generator().manual_seed(seed + rank)
        self.fair = (150, 10_000) if rank == 1 else None  # the fair has come to stay

    def tickets(self, day):
        if self.fair and self.fair[0] <= day < self.fair[1]:
            return 160
        return 3

    def day(self, day):
        """Hours of the tickets, their meters, and what was paid."""
        count = self.tickets(day)
        hours = torch.randint(0, HOURS, (count,), generator=self.generator)
        meters = torch.randint(0, 4000, (count,), generator=self.generator)
        paid = 1.5 + torch.sin(hours / 24 * 6.28) + 0.3 * self.rank + 0.2 * torch.randn(count, generator=self.generator)
        time.sleep(0.055 + 0.02 * torch.rand(1, generator=self.generator).item())
        return hours, meters, paid


class Payment(nn.Module):
    def __init__(self):
        super().__init__()
        self.hour = nn.Parameter(torch.zeros(HOURS))
        self.level = nn.Parameter(torch.zeros(()))

    def forward(self, hours):
        return self.level + self.hour[hours]


class Fit:
    def __init__(self, days, occupancy_every, lr):
        self.days, self.every = days, occupancy_every
        self.model = Payment()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.city = City(dist.get_rank())
        self.occupancy = Occupancy()

    def share(self):
        """The hours are common to all cities, the level is not."""
        gradient = self.model.hour.grad
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()

    def run(self):
        self.occupancy.start()
        for day in range(self.days):
            hours, meters, paid = self.city.day(day)
            self.optimizer.zero_grad()
            loss = (self.model(hours) - paid).square().mean()
            loss.backward()
            self.share()
            self.optimizer.step()
            if day % self.every == 0:
                self.occupancy.put(hours, meters)
            if day % 100 == 0 and dist.get_rank() == 0:
                print(f"day {day}: {loss.item():.3f}", flush=True)
        return self.occupancy.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=560)
    parser.add_argument("--occupancy-every", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    occupancy = Fit(args.days, args.occupancy_every, args.lr).run()
    dist.barrier()
    if dist.get_rank() == 0:
        print("cars in an hour:", [round(value, 1) for value in occupancy.tolist()], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
