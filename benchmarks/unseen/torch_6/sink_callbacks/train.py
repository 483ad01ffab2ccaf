"""Tabular regression with a small trainer and callbacks."""
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from callbacks import Echo, ResidualTable, ScalarLogger, Sink


class Trainer:
    def __init__(self, model, callbacks, lr=1e-2):
        self.model = DistributedDataParallel(model)
        self.opt = torch.optim.RMSprop(self.model.parameters(), lr)
        self.callbacks = callbacks
        self.residual = None

    def fire(self, event, *args):
        for cb in self.callbacks:
            getattr(cb, event)(self, *args)

    def fit(self, batches):
        for step, (x, y) in enumerate(batches, 1):
            self.residual = (self.model(x).squeeze(-1) - y)
            loss = nn.functional.huber_loss(self.residual, torch.zeros_like(y))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.residual = self.residual.detach()
            self.fire("on_step", step, loss.item())
            time.sleep(0.02)
        dist.barrier()
        self.fire("on_end")


def make_batches(rank, steps=60, rows=256):
    g = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        x = torch.randn(rows, 10, generator=g)
        yield x, x[:, 0] - 2 * x[:, 3] + 0.1 * torch.randn(rows, generator=g)


def main():
    rank = int(os.environ["RANK"])
    callbacks = []
    if rank == 0:
        sink = Sink(os.path.join(tempfile.mkdtemp(prefix="events_"), "events.tsv"))
        callbacks = [Echo(), ScalarLogger(sink), ResidualTable(sink)]
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    Trainer(net, callbacks).fit(make_batches(rank))
    dist.destroy_process_group()
    if rank == 0:
        print("finished", flush=True)


if __name__ == "__main__":
    main()
