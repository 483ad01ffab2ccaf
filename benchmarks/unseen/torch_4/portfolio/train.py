"""Volatility model sharded with FSDP2, back-tested in plain Python on one process."""
from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


@dataclass
class Plan:
    lags: int = 12
    hidden: int = 24
    batch: int = 12
    steps: int = 60
    backtest_at: tuple[int, ...] = (25, 50)
    backtest_seconds: float = 9.0


class Volatility(nn.Module):
    def __init__(self, plan):
        super().__init__()
        self.enter = nn.Linear(plan.lags, plan.hidden)
        self.middle = nn.Linear(plan.hidden, plan.hidden)
        self.leave = nn.Linear(plan.hidden, 1)

    def forward(self, x):
        h = torch.tanh(self.enter(x))
        h = h + torch.tanh(self.middle(h))
        return nn.functional.softplus(self.leave(h))


def whole_weights(model):
    return {name: value.full_tensor() for name, value in model.state_dict().items()}


def backtest(weights, plan):
    """Walk-forward simulation, one day after the other."""
    model = Volatility(plan)
    model.load_state_dict(weights)
    finish = time.monotonic() + plan.backtest_seconds
    window, likelihood, day = [0.01] * plan.lags, 0.0, 0
    with torch.no_grad():
        while time.monotonic() < finish:
            sigma = model(torch.tensor([window])).item() + 1e-4
            move = 0.02 * math.sin(0.9 * day)
            likelihood -= math.log(sigma) + 0.5 * (move / sigma) ** 2
            window = window[1:] + [abs(move)]
            day += 1
    return likelihood / day


def returns(desk, plan):
    g = torch.Generator().manual_seed(desk)
    for _ in range(plan.steps):
        x = 0.02 * torch.randn(plan.batch, plan.lags, generator=g).abs()
        yield x, x.mean(1, keepdim=True)


def main(plan=Plan()):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = Volatility(plan)
    for layer in (model.enter, model.middle, model.leave):
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, foreach=False)
    for step, (x, y) in enumerate(returns(rank, plan), start=1):
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
        if step in plan.backtest_at:
            weights = whole_weights(model)
            score = torch.zeros(1)
            if rank == 0:
                score[0] = backtest(weights, plan)
            dist.broadcast(score, src=0)
            if rank == 1:
                print(f"step {step}: log-likelihood {score.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
