"""Yield of salt pans, learned without a server: each pan trains by itself and meets another one every evening."""
import argparse
import dataclasses
import time

import torch
import torch.distributed as dist
from torch import nn

from market import Market
from pans import Pan


@dataclasses.dataclass(frozen=True)
class Season:
    days: int = 60
    features: int = 12
    width: int = 32
    lr: float = 0.02
    passes: int = 6

    @classmethod
    def from_command_line(cls):
        parser = argparse.ArgumentParser(description=__doc__)
        for field in dataclasses.fields(cls):
            parser.add_argument("--" + field.name, type=type(field.default), default=field.default)
        return cls(**vars(parser.parse_args()))


def work(model, optimizer, x, y, passes):
    for _ in range(passes):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x)[:, 0], y)
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
    return loss.item()


def main():
    season = Season.from_command_line()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(9)
    model = nn.Sequential(nn.Linear(season.features, season.width), nn.Tanh(), nn.Linear(season.width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=season.lr, momentum=0.8)
    pan, market = Pan(rank, season.features), Market(model)
    for day in range(season.days):
        loss = work(model, optimizer, *pan.day(day), season.passes)
        market.weigh(pan.loads(day))
        market.meet(day)
        if rank == 0:
            print(f"day {day}: loss {loss:.4f}, raked {market.raked}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
