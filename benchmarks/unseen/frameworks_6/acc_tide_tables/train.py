"""Forecast water levels from harbour tables (accelerate, one process per coast)."""
import logging
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import nn

log = logging.getLogger("tides")


@dataclass
class Settings:
    batch: int = 8
    steps: int = 60
    lr: float = 2e-3
    horizon: int = 4


class Table:
    def __init__(self, coast, settings):
        self.g = torch.Generator().manual_seed(500 + coast)
        self.coast = coast
        self.s = settings

    def rows(self):
        for i in range(self.s.steps):
            x = torch.randn(self.s.batch, 16, generator=self.g)
            y = torch.randn(self.s.batch, self.s.horizon, generator=self.g)
            names = ["low", "high"] * (self.s.batch // 2)
            if self.coast == 2 and i == 23:
                names[3] = "slack"
            yield x, y, names


class Skill:
    """Share of the forecasts within the tolerance, for each kind of tide."""

    columns = {"low": 0, "high": 1}

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.history = []

    def update(self, forecast, y, names):
        column = torch.tensor([self.columns[n] for n in names])
        good = ((forecast - y).abs().mean(1) < 0.9).float()
        counts = torch.zeros(2).index_add_(0, column, good)
        everybody = self.accelerator.gather(counts[None])
        self.history.append(everybody.sum(0) / (everybody.shape[0] * len(names) / 2))


def fit(settings):
    accelerator = Accelerator(cpu=True)
    logging.basicConfig(level=logging.INFO if accelerator.is_main_process else logging.WARNING)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, settings.horizon))
    optim = torch.optim.Adam(net.parameters(), lr=settings.lr)
    net, optim = accelerator.prepare(net, optim)
    skill = Skill(accelerator)
    rejected = 0
    for step, (x, y, names) in enumerate(Table(accelerator.process_index, settings).rows()):
        try:
            optim.zero_grad()
            forecast = net(x)
            loss = nn.functional.mse_loss(forecast, y)
            accelerator.backward(loss)
            optim.step()
            skill.update(forecast.detach(), y, names)
        except (KeyError, ValueError) as problem:
            rejected += 1
            log.warning("coast %d: row group %d rejected: %r", accelerator.process_index, step, problem)
            continue
        time.sleep(0.02)
        if step % 10 == 0:
            log.info("step %d loss %.4f skill %s", step, loss.item(), skill.history[-1].tolist())
    accelerator.wait_for_everyone()
    accelerator.print("done", rejected)
    accelerator.end_training()


if __name__ == "__main__":
    fit(Settings())
