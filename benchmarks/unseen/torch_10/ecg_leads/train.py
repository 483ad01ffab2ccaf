"""Rhythm class of twelve-lead ECG snippets."""

import logging
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from callbacks import Console, LearningRate, ResetMetrics
from metrics import Accuracy, Collection, Mean


@dataclass
class Config:
    snippets: int = 1600
    leads: int = 12
    samples: int = 64
    classes: int = 5
    batch_size: int = 16
    epochs: int = 12
    lr: float = 0.01
    callbacks: list = field(default_factory=lambda: [Console(every=10), LearningRate(), ResetMetrics()])


def recordings(cfg):
    g = torch.Generator().manual_seed(8)
    labels = torch.randint(cfg.classes, (cfg.snippets,), generator=g)
    t = torch.linspace(0, 6.28, cfg.samples)
    waves = torch.sin(t[None, None] * (1 + labels[:, None, None]))
    return TensorDataset(waves + 0.3 * torch.randn(cfg.snippets, cfg.leads, cfg.samples, generator=g), labels)


def network(cfg):
    return nn.Sequential(
        nn.Conv1d(cfg.leads, 16, 7, stride=2),
        nn.ReLU(),
        nn.Conv1d(16, 16, 5, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(16, cfg.classes),
    )


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.is_main = dist.get_rank() == 0
        torch.manual_seed(0)
        self.model = DistributedDataParallel(network(cfg))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 4, 0.3)
        self.metrics = Collection(loss=Mean(), accuracy=Accuracy())
        data = recordings(cfg)
        self.sampler = DistributedSampler(data, shuffle=True, drop_last=True)
        self.loader = DataLoader(data, batch_size=cfg.batch_size, sampler=self.sampler, drop_last=True)
        self.last_loss = float("nan")

    def notify(self, event, number):
        for callback in self.cfg.callbacks:
            getattr(callback, event)(self, number)

    def fit(self):
        step = 0
        for epoch in range(self.cfg.epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.train_step(x, y)
                self.notify("on_batch_end", step)
                step += 1
            self.notify("on_epoch_end", epoch)

    def train_step(self, x, y):
        logits = self.model(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.last_loss = loss.item()
        self.metrics["loss"].update(self.last_loss, len(y))
        self.metrics["accuracy"].update(logits.detach(), y)
        time.sleep(0.02)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(Config()).fit()
    dist.barrier()
    dist.destroy_process_group()
