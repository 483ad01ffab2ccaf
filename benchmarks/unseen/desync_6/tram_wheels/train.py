"""Wear of tram wheels from their measured profiles (FSDP2, a depot for each process)."""

import logging
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from profiles import WIDTH, Depot, portions

log = logging.getLogger("tram")


@dataclass
class Settings:
    visits: int = 440
    most_points: int = 180
    hidden: int = 32
    lr: float = 2e-3


class Wear(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, lines):
        return self.head(self.point(lines).mean(dim=1))


class Trainer:
    def __init__(self, settings):
        self.settings = settings
        torch.manual_seed(2)
        self.model = Wear(settings.hidden)
        fully_shard(self.model.point)
        fully_shard(self.model.head)
        fully_shard(self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=settings.lr)

    def update(self, profiles):
        total = 0.0
        for lines, wear in portions(profiles, self.settings.most_points):
            loss = nn.functional.mse_loss(self.model(lines), wear, reduction="sum") / len(profiles)
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total

    def fit(self, depot):
        for number in range(self.settings.visits):
            total = self.update(depot.visit(number))
            if number % 40 == 0:
                log.info("visit %d: %.4f", number, total)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    trainer = Trainer(Settings())
    trainer.fit(Depot(rank))
    dist.barrier()
    log.info("all depots are done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
