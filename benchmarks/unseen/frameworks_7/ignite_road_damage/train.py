"""Road damage classes from accelerometer traces, with ignite."""
import argparse
import time

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from torch import nn
from torch.utils.data import DataLoader, Dataset

from recovery import install_recovery

CLASSES = {"crack": 0, "pothole": 1, "rut": 2}


class Traces(Dataset):
    """Traces of one car; every process is fed by its own car."""

    def __init__(self, car, count=320):
        g = torch.Generator().manual_seed(40 + car)
        self.traces = torch.randn(count, 24, generator=g)
        names = list(CLASSES)
        self.names = [names[i % 3] for i in range(count)]
        if car == 1:
            self.names[190] = "manhole"

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return self.traces[i], self.names[i]


def encode(names):
    return torch.tensor([CLASSES[name] for name in names])


def training(local_rank, config):
    torch.manual_seed(config["seed"])
    model = idist.auto_model(nn.Sequential(nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, len(CLASSES))))
    optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=config["lr"]))
    loader = DataLoader(Traces(idist.get_rank()), batch_size=config["batch_size"])

    def update(engine, batch):
        traces, names = batch
        time.sleep(0.02)
        target = encode(names)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(traces), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    trainer = Engine(update)
    install_recovery(trainer, model, optimizer, config["output"])

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def show(engine):
        if idist.get_rank() == 0:
            print(f"iteration {engine.state.iteration} loss {engine.state.output:.3f}", flush=True)

    trainer.run(loader, max_epochs=config["epochs"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="/tmp")
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    settings = {"seed": 12, "lr": 0.05, "batch_size": 8, "output": options.output, "epochs": options.epochs}
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(training, settings)
