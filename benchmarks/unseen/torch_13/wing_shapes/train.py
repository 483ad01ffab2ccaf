"""Drag of wing profiles; four members with their own step sizes that pull each other along."""
import argparse
import dataclasses
import time

import torch
import torch.distributed as dist
from torch import nn

from league import Member


@dataclasses.dataclass
class Plan:
    rounds: int = 60
    steps: int = 12
    batch: int = 64
    width: int = 48
    pull: float = 1e-3
    settled: int = 18
    generation: int = 6
    rates: tuple = (0.002, 0.004, 0.05, 0.03)


def profiles(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(count, 8, generator=g) * 2 - 1
    drag = torch.sin(3 * x[:, 0]) * x[:, 1] + x[:, 2].square() - x[:, 3] * x[:, 4] + 0.3 * torch.sin(6 * x[:, 5])
    return x, drag + 0.02 * torch.randn(count, generator=g)


def build(width):
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def round_of(member, plan, data, g):
    x, drag = data
    for _ in range(plan.steps):
        pick = torch.randint(0, len(x), (plan.batch,), generator=g)
        loss = nn.functional.mse_loss(member.model(x[pick])[:, 0], drag[pick])
        if member.best is not None:
            loss = loss + plan.pull * (member.model[0].weight - member.best).square().sum()
        member.optimizer.zero_grad()
        loss.backward()
        member.optimizer.step()
        time.sleep(0.01)


@torch.no_grad()
def error(model, data):
    x, drag = data
    return nn.functional.mse_loss(model(x)[:, 0], drag).item()


def main():
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(Plan):
        if field.type in (int, float):
            parser.add_argument("--" + field.name, type=field.type, default=field.default)
    plan = Plan(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = build(plan.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=plan.rates[rank % len(plan.rates)], momentum=0.9)
    member = Member(model, optimizer, plan.settled, plan.generation)
    train, held_out = profiles(2000, seed=1), profiles(500, seed=2)
    g = torch.Generator().manual_seed(10 + rank)
    for number in range(plan.rounds):
        round_of(member, plan, train, g)
        leader = member.end_round(error(model, held_out))
        if rank == 0:
            print(f"round {number}: member {leader} leads with {min(member.standings.errors):.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
