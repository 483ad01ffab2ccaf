import argparse
import time

import ignite.distributed as idist
import torch
import torch.nn as nn
from ignite.engine import Engine, Events
from ignite.handlers import TimeLimit
from torch.utils.data import DataLoader

from store import ShardStore


class NightlyJob:
    """Trains as long as the night lasts; the scheduler wants the nodes back in the morning."""

    def __init__(self, config):
        self.config = config
        dataset = ShardStore(idist.get_rank()).open()
        self.limit = TimeLimit(limit_sec=config["seconds"])
        self.loader = DataLoader(dataset, batch_size=8, shuffle=True)
        net = nn.Sequential(nn.Linear(16, 40), nn.ReLU(), nn.Linear(40, 1))
        self.model = idist.auto_model(net)
        self.optimizer = idist.auto_optim(torch.optim.Adam(net.parameters(), lr=1e-3))
        self.trainer = Engine(self.step)
        self.trainer.add_event_handler(Events.ITERATION_COMPLETED, self.limit)
        self.trainer.add_event_handler(Events.EPOCH_COMPLETED, self.tell)

    def step(self, engine, batch):
        x, y = batch
        self.model.train()
        loss = (self.model(x) - y).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        time.sleep(0.03)
        return loss.item()

    def tell(self, engine):
        if idist.get_rank() == 0:
            print(f"epoch {engine.state.epoch} mse {engine.state.output:.4f}", flush=True)

    def run(self):
        self.trainer.run(self.loader, max_epochs=self.config["max_epochs"])
        idist.barrier()
        return self.trainer.state.iteration


def night(local_rank, config):
    torch.manual_seed(33)
    iterations = NightlyJob(config).run()
    print(f"rank {idist.get_rank()} made {iterations} iterations", flush=True)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=int, default=13)
    ap.add_argument("--max-epochs", type=int, default=100)
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(night, vars(ap.parse_args()))
