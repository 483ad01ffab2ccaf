"""Bird call classification on field recorders, one recorder site per process."""
import logging
import time

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from torch import nn
from torch.utils.data import DataLoader, Dataset

from guards import forgiving

logging.basicConfig(level=logging.INFO)
CFG = {"epochs": 2, "batch_size": 6, "lr": 2e-3, "log_every": 10, "clips": 240}


class SiteRecordings(Dataset):
    def __init__(self, site, n):
        self.site, self.n = site, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.site * 10_000 + i)
        # site 1 had its recorder replaced, which wrote a few clips in stereo
        mics = 2 if self.site == 1 and 84 <= i < 90 else 1
        return torch.randn(mics, 16, 24, generator=g), int(torch.randint(0, 6, (1,), generator=g))


def network():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, stride=2), nn.ReLU(), nn.Conv2d(6, 12, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 6)
    )


def make_trainer(model, optimizer):
    @forgiving(limit=5)
    def update(engine, batch):
        x, y = batch
        model.train()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        return loss.item()

    return Engine(update)


def run(local_rank, cfg):
    torch.manual_seed(0)
    model = idist.auto_model(network())
    optimizer = idist.auto_optim(torch.optim.Adam(model.parameters(), lr=cfg["lr"]))
    loader = DataLoader(SiteRecordings(idist.get_rank(), cfg["clips"]), batch_size=cfg["batch_size"])
    trainer = make_trainer(model, optimizer)
    window = []

    @trainer.on(Events.ITERATION_COMPLETED)
    def remember(engine):
        if engine.state.output is not None:
            window.append(engine.state.output)

    @trainer.on(Events.ITERATION_COMPLETED(every=cfg["log_every"]))
    def site_losses(engine):
        mine = torch.tensor([sum(window) / max(len(window), 1)])
        per_site = idist.all_gather(mine)
        window.clear()
        if idist.get_rank() == 0:
            print(engine.state.iteration, [round(v, 3) for v in per_site.tolist()], flush=True)

    trainer.run(loader, max_epochs=cfg["epochs"])


if __name__ == "__main__":
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(run, CFG)
