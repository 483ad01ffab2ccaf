import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from links import Links


def well_logs(cfg):
    g = torch.Generator().manual_seed(6)
    x = torch.randn(cfg.logs, cfg.curves, generator=g)
    y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] > 0.5).long()
    return DataLoader(TensorDataset(x, y), batch_size=cfg.batch_size)


class Stage:
    """One round: all micro-batches forward, then all of them backward, then the update."""

    def __init__(self, number, stages, cfg):
        self.cfg = cfg
        self.links = Links(number, stages, cfg.width)
        torch.manual_seed(number)
        self.module = self.build()
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=cfg.lr)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()

    def epoch(self):
        for _ in range(self.cfg.rounds):
            self.round()


class FirstStage(Stage):
    def build(self):
        return nn.Sequential(nn.Linear(self.cfg.curves, self.cfg.width), nn.ReLU())

    def epoch(self):
        for x, _ in well_logs(self.cfg):
            self.round(x)

    def round(self, x):
        outputs = []
        for part in x.split(self.cfg.micro_batch_size):
            outputs.append(self.module(part))
            self.links.send_activation(outputs[-1])
            time.sleep(0.004)
        for output in outputs:
            output.backward(self.links.receive_gradient(output))
        self.update()


class MiddleStage(Stage):
    def build(self):
        return nn.Sequential(nn.Linear(self.cfg.width, self.cfg.width), nn.ReLU())

    def round(self):
        done = []
        for _ in range(self.cfg.micro_batches):
            x = self.links.receive_activation()
            y = self.module(x)
            self.links.send_activation(y)
            done.append((x, y))
        for x, y in done:
            y.backward(self.links.receive_gradient(y))
            self.links.send_gradient(x)
        self.update()


class LastStage(Stage):
    def build(self):
        return nn.Sequential(nn.Linear(self.cfg.width, self.cfg.width), nn.ReLU(), nn.Linear(self.cfg.width, 3))

    def epoch(self):
        for _, y in well_logs(self.cfg):
            self.loss = self.round(y)

    def round(self, labels):
        inputs, losses = [], []
        for part in labels.split(self.cfg.micro_batch_size):
            x = self.links.receive_activation()
            losses.append(nn.functional.cross_entropy(self.module(x), part, reduction="sum") / len(labels))
            inputs.append(x)
        for x, loss in zip(inputs, losses):
            loss.backward()
            self.links.send_gradient(x)
        self.update()
        return sum(loss.item() for loss in losses)
