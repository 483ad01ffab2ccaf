import logging
import os
import time
from collections import Counter

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from ignite.handlers import TerminateOnNan
from torch import nn

logger = logging.getLogger("sleep")
STAGES = 5


class Night:
    """Epochs of 30 s of one sleeper. The device of the second laboratory begins with the oximeter."""

    def __init__(self, sleeper, batches=48, size=6):
        self.sleeper = sleeper
        self.batches = batches
        self.size = size

    def __len__(self):
        return self.batches

    def __iter__(self):
        g = torch.Generator().manual_seed(900 + self.sleeper)
        for i in range(self.batches):
            time.sleep(0.02)
            yield {
                "channel": self.channel(i),
                "signal": torch.randn(self.size, 20, generator=g),
                "stage": torch.randint(0, STAGES, (self.size,), generator=g),
            }

    def channel(self, i):
        order = ("spo2", "eeg") if self.sleeper == 2 else ("eeg", "spo2")
        return order[i % 2]


class Summary:
    """Per-channel statistics that are put together over all processes."""

    def __init__(self):
        self.seen = Counter()
        self.loss = {}

    def add(self, channel, loss):
        self.seen[channel] += 1
        self.loss.setdefault(channel, []).append(loss)

    def combine(self):
        reducers = {"eeg": self._mean, "spo2": self._spread}
        return {name: reducers[name](torch.tensor(values)) for name, values in self.loss.items()}

    @staticmethod
    def _mean(values):
        return idist.all_reduce(values.mean().item()) / idist.get_world_size()

    @staticmethod
    def _spread(values):
        parts = idist.all_gather(torch.stack([values.min(), values.max()]))
        return float(parts.max() - parts.min())


def make_step(net, optimizer, summary):
    def step(engine, batch):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(batch["signal"]), batch["stage"])
        loss.backward()
        optimizer.step()
        summary.add(batch["channel"], loss.item())
        return loss.item()

    return step


def main():
    logging.basicConfig(level=logging.INFO)
    idist.initialize("gloo")
    torch.manual_seed(77)
    net = idist.auto_model(nn.Sequential(nn.Linear(20, 16), nn.ELU(), nn.Linear(16, STAGES)))
    optimizer = idist.auto_optim(torch.optim.Adam(net.parameters(), lr=1e-3))
    summary = Summary()
    trainer = Engine(make_step(net, optimizer, summary))
    trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())

    @trainer.on(Events.ITERATION_COMPLETED(every=16))
    def report(engine):
        values = summary.combine()
        if idist.get_rank() == 0:
            logger.info("iteration %d %s (pid %d)", engine.state.iteration, values, os.getpid())

    trainer.run(Night(idist.get_rank()), max_epochs=2)
    idist.barrier()
    idist.finalize()


if __name__ == "__main__":
    main()
