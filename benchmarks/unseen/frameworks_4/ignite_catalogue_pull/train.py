"""Galaxy morphology votes. The catalogue is pulled once per machine, through a proxy that is often busy."""
import argparse
import hashlib
import os
import random
import time

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.handlers import LRScheduler
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import TensorDataset


class BusyProxy:
    def __init__(self, seed=1, busy=7):
        self.rng, self.busy = random.Random(seed), busy

    def get(self, name):
        if self.busy > 0:
            self.busy -= 1
            raise TimeoutError(f"{name}: 504 from proxy")
        digest = hashlib.sha1(name.encode()).hexdigest()
        return int(digest[:6], 16)


def with_retries(fn, *args, tries=20, first=0.5, factor=1.4, cap=3.0):
    wait = first
    for n in range(tries):
        try:
            return fn(*args)
        except TimeoutError as e:
            print(f"try {n}: {e}; next in {wait:.1f}s", flush=True)
            time.sleep(wait)
            wait = min(wait * factor, cap)
    raise RuntimeError("gave up")


def catalogue(path):
    with idist.one_rank_first(local=True):
        if not os.path.exists(path):
            seed = with_retries(BusyProxy().get, "gz-decals-mini")
            g = torch.Generator().manual_seed(seed)
            x = torch.randn(480, 1, 12, 12, generator=g)
            y = (x[:, 0, 4:8, 4:8].mean((1, 2)) > 0).long()
            torch.save((x, y), path)
        x, y = torch.load(path)
    return TensorDataset(x[:384], y[:384]), TensorDataset(x[384:], y[384:])


def training(local_rank, a):
    train_ds, val_ds = catalogue(a.cache)
    model = idist.auto_model(
        nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(800, 2))
    )
    opt = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=0.05))
    loader = idist.auto_dataloader(train_ds, batch_size=12, shuffle=True, drop_last=True)
    val_loader = idist.auto_dataloader(val_ds, batch_size=12)
    criterion = nn.CrossEntropyLoss()

    def step(engine, batch):
        model.train()
        x, y = batch
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.05)
        return loss.item()

    trainer = Engine(step)
    trainer.add_event_handler(Events.ITERATION_STARTED, LRScheduler(torch.optim.lr_scheduler.StepLR(opt, 40)))
    evaluator = create_supervised_evaluator(model, metrics={"acc": Accuracy(), "nll": Loss(criterion)})

    @trainer.on(Events.EPOCH_COMPLETED)
    def validate(engine):
        m = evaluator.run(val_loader).metrics
        if idist.get_rank() == 0:
            print(f"epoch {engine.state.epoch} acc {m['acc']:.3f} nll {m['nll']:.3f}", flush=True)
            for _ in range(6):  # figures for the group's web page
                time.sleep(0.5)

    trainer.run(loader, max_epochs=a.epochs)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--cache", default=f"/tmp/gz_mini_{os.getppid()}.pt")
    p.add_argument("--epochs", type=int, default=3)
    args = p.parse_args()
    with idist.Parallel(backend="gloo") as par:
        par.run(training, args)
