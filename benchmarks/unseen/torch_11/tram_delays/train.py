"""Delay of a tram at its next stop, from line, hour and the delays of the trams before it."""

import dataclasses
import logging
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from callbacks import CosineDecay, DelayTable, Throughput
from distutil import is_main


@dataclasses.dataclass
class Config:
    lines: int = 9
    history: int = 6
    samples: int = 2560
    batch: int = 32
    epochs: int = 24
    lr: float = 3e-3


class DelayNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.line = nn.Embedding(cfg.lines, 8)
        self.hour = nn.Embedding(24, 8)
        self.body = nn.Sequential(nn.Linear(16 + cfg.history, 48), nn.GELU(), nn.Linear(48, 1))

    def forward(self, line, hour, history):
        features = torch.cat([self.line(line), self.hour(hour), history], dim=1)
        return self.body(features).squeeze(1)


def make_data(cfg):
    g = torch.Generator().manual_seed(3)
    line = torch.randint(0, cfg.lines, (cfg.samples,), generator=g)
    hour = torch.randint(0, 24, (cfg.samples,), generator=g)
    history = torch.randn(cfg.samples, cfg.history, generator=g)
    delay = history.mean(1) + 0.3 * torch.sin(hour / 4.0) + 0.05 * line
    return TensorDataset(line, hour, history, delay)


class Trainer:
    def __init__(self, cfg, folder):
        self.cfg = cfg
        data = make_data(cfg)
        self.sampler = DistributedSampler(data, shuffle=True, drop_last=True)
        self.loader = DataLoader(data, batch_size=cfg.batch, sampler=self.sampler, drop_last=True)
        torch.manual_seed(0)
        self.model = DistributedDataParallel(DelayNet(cfg))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, cfg.epochs * len(self.loader))
        self.callbacks = [CosineDecay(schedule)]
        if is_main():
            self.callbacks += [Throughput(), DelayTable(os.path.join(folder, "delays.csv"))]
        self.last = None

    def emit(self, hook, *args):
        for callback in self.callbacks:
            getattr(callback, hook)(self, *args)

    def residuals(self):
        line, hour, residual = self.last
        return list(zip(line.tolist(), hour.tolist(), residual.tolist()))

    def train_epoch(self):
        for line, hour, history, delay in self.loader:
            predicted = self.model(line, hour, history)
            loss = nn.functional.smooth_l1_loss(predicted, delay)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.last = line, hour, (predicted - delay).detach()
            self.emit("on_step_end", loss)
            time.sleep(0.02)

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.sampler.set_epoch(epoch)
            self.train_epoch()
            self.emit("on_epoch_end", epoch)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as folder:
        Trainer(Config(), folder).fit()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
