"""Daily melt of a glacier at its stakes, from the temperatures of the air."""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

from stations import HOURS, StationLog, distinct


@dataclass
class Config:
    days: int = 440
    stakes: int = 9
    channels: int = 24
    lr: float = 3e-3
    report: int = 100


class MeltModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(HOURS, config.channels), nn.SiLU())
        self.second = nn.Sequential(nn.Linear(config.channels, config.channels), nn.SiLU())
        self.melt = nn.Linear(config.channels, 1)

    def forward(self, air):
        return self.melt(self.second(self.first(air)))


def shard(model):
    for part in (model.first, model.second):
        fully_shard(part)
    return fully_shard(model)


def train_day(model, optimizer, air, melt):
    estimate = model(air)
    loss = nn.functional.huber_loss(estimate, melt)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


def season(config):
    station = StationLog(dist.get_rank(), config.days, config.stakes)
    model = shard(MeltModel(config))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    losses = []
    for air, melt in distinct(DataLoader(station, batch_size=None)):
        losses.append(train_day(model, optimizer, air, melt))
        if len(losses) % config.report == 0 and dist.get_rank() == 0:
            print(f"{len(losses)} days: {torch.stack(losses[-config.report:]).mean():.4f}", flush=True)
    dist.barrier()
    return torch.stack(losses).mean()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(23)
    dist.init_process_group("gloo")
    mean = season(Config())
    dist.all_reduce(mean)
    if dist.get_rank() == 0:
        print(f"mean of the season: {mean / dist.get_world_size():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
