"""Yield per hectare from twelve season features. Every rank holds the fields of one district."""

import dataclasses
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from plateau import PlateauPolicy


@dataclasses.dataclass
class Config:
    features: int = 12
    hidden: int = 32
    batch: int = 32
    steps_per_epoch: int = 25
    epochs: int = 30
    lr: float = 0.02
    lr_floor: float = 1e-3
    # response of last year's harvest to the season, by district; irrigation failed in the third
    harvest: tuple = (1.0, 1.0, -0.5, 1.0)


class District:
    def __init__(self, number, cfg):
        self.cfg = cfg
        self.g = torch.Generator().manual_seed(40 + number)
        shared = torch.Generator().manual_seed(4)
        self.response = 0.5 * torch.randn(cfg.features, generator=shared)
        self.last_year = cfg.harvest[number]
        self.validation = self._fields(256, self.last_year)

    def _fields(self, n, strength=1.0):
        x = torch.randn(n, self.cfg.features, generator=self.g)
        noise = 0.1 * torch.randn(n, 1, generator=self.g)
        return x, strength * (x @ self.response).unsqueeze(1) + noise

    def batches(self):
        for _ in range(self.cfg.steps_per_epoch):
            yield self._fields(self.cfg.batch)


class Trainer:
    def __init__(self, cfg, district):
        self.cfg = cfg
        self.district = district
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(cfg.features, cfg.hidden), nn.Tanh(), nn.Linear(cfg.hidden, 1))
        self.model = DistributedDataParallel(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr)
        self.policy = PlateauPolicy(self.optimizer, floor=cfg.lr_floor)

    def train_epoch(self):
        for x, y in self.district.batches():
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            self.optimizer.step()
            time.sleep(0.035)

    @torch.no_grad()
    def validate(self):
        x, y = self.district.validation
        return nn.functional.mse_loss(self.model.module(x), y).item()

    def run(self):
        for epoch in range(self.cfg.epochs):
            self.train_epoch()
            error = self.validate()
            if dist.get_rank() == 0:
                print(f"epoch {epoch:2d} error {error:.4f} lr {self.policy.lr:.5f}", flush=True)
            if self.policy.exhausted(error):
                break
        self.save()

    def save(self):
        with tempfile.TemporaryDirectory() as folder:
            if dist.get_rank() == 0:
                torch.save(self.model.module.state_dict(), os.path.join(folder, "yield.pt"))
            dist.barrier()


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    config = Config()
    Trainer(config, District(dist.get_rank(), config)).run()
    dist.destroy_process_group()
