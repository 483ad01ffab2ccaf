"""Ships passing a lighthouse from its log book; a common network, and a table of ships on each process."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from shelf import Shelf

SHIPS = (420, 1310, 460)


class LogBook:
    """Entries of one coast: the ship, the weather and the distance at which it passed."""

    def __init__(self, coast, batch):
        self.g = torch.Generator().manual_seed(60 + coast)
        self.ships = SHIPS[coast % len(SHIPS)]
        self.habits = torch.randn(self.ships, generator=self.g)
        self.batch = batch

    def __iter__(self):
        while True:
            ship = torch.randint(0, self.ships, (self.batch,), generator=self.g)
            weather = torch.randn(self.batch, 6, generator=self.g)
            yield ship, weather, self.habits[ship] * weather[:, 0] + weather[:, 1].abs()


class Common(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6 + 16, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, traits, weather):
        return self.layers(torch.cat([traits, weather], 1))[:, 0]


class Run:
    def __init__(self, args):
        self.args = args
        self.book = LogBook(dist.get_rank(), args.batch)
        self.table = nn.Embedding(self.book.ships, 16)
        torch.manual_seed(8)
        self.common = DDP(Common())
        parameters = [*self.common.parameters(), *self.table.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=args.lr)
        self.shelf = Shelf(args.budget_kib * 1024)

    def state(self):
        return {
            "common": self.common.module.state_dict(),
            "table": self.table.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def train(self):
        running = 0.0
        for step, (ship, weather, distance) in enumerate(self.book, start=1):
            loss = nn.functional.mse_loss(self.common(self.table(ship), weather), distance)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            running = 0.98 * running + 0.02 * loss.item()
            time.sleep(0.03)
            if step % self.args.snapshot_every == 0:
                self.shelf.put(step, self.state())
                print(f"[{dist.get_rank()}] step {step}: loss {running:.3f}, {self.shelf.used() >> 10} KiB", flush=True)
            if step == self.args.steps:
                break
        self.shelf.clear()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--snapshot-every", type=int, default=25)
    parser.add_argument("--budget-kib", type=int, default=1024)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Run(args).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
