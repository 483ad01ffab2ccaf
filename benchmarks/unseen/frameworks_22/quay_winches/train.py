"""Torque of the quay's winches from motor currents; a model that is trained and reviewed week by week."""

import argparse
import logging
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from digest import ErrorDigest, table
from logbook import SENSORS, Week

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = get_logger(__name__)


@dataclass
class Plan:
    weeks: int = 10
    pulls: int = 16
    rounds: int = 3
    lr: float = 3e-3
    pause: float = 0.03


class TorqueNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SENSORS, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, currents):
        return self.body(currents).squeeze(-1)


class Foreman:
    def __init__(self, plan):
        self.plan = plan
        self.accelerator = Accelerator(cpu=True)
        model = TorqueNet()
        optimizer = torch.optim.AdamW(model.parameters(), lr=plan.lr)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.digest = ErrorDigest()

    def loader(self, week, seed):
        data = Week(week, self.plan.pulls, seed)
        return self.accelerator.prepare(DataLoader(data, batch_size=self.plan.pulls))

    def train_week(self, week):
        loader = self.loader(week, seed=0)
        for _ in range(self.plan.rounds):
            for currents, torques in loader:
                loss = nn.functional.mse_loss(self.model(currents), torques)
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.optimizer.zero_grad()
                time.sleep(self.plan.pause)

    @torch.no_grad()
    def review(self, week):
        self.digest.reset()
        for currents, torques in self.loader(week, seed=1):
            self.digest.add(self.model(currents), torques)
        return self.accelerator.reduce(self.digest.quantiles(), reduction="mean")

    def run(self):
        for week in range(self.plan.weeks):
            self.train_week(week)
            log.info("week %d  %s", week, table(self.review(week).tolist()))
        self.accelerator.end_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weeks", type=int, default=10)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(22)
    Foreman(Plan(weeks=args.weeks, lr=args.lr)).run()
