"""Digit-like glyph classifier, started with plain python: ignite spawns the processes."""
import socket
import time

import ignite.distributed as idist
import torch
from ignite.engine import Engine
from ignite.utils import manual_seed, setup_logger
from torch import nn
from torch.utils.data import TensorDataset

from handlers import attach_running_loss, attach_validation


def glyphs(n, seed):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 5, (n,), generator=g)
    images = 0.4 * torch.randn(n, 1, 12, 12, generator=g)
    for k in range(n):
        images[k, 0, 2 * int(labels[k]) + 1] += 1.0
    return TensorDataset(images, labels)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 36, 5),
    )


def training(local_rank, config):
    manual_seed(config["seed"] + idist.get_rank())
    logger = setup_logger("glyphs")
    train_loader = idist.auto_dataloader(glyphs(768, 1), batch_size=config["batch_size"], shuffle=True, drop_last=True)
    val_loader = torch.utils.data.DataLoader(glyphs(96, 2), batch_size=16)

    net = network()
    model = idist.auto_model(net)
    optimizer = idist.auto_optim(torch.optim.Adam(model.parameters(), lr=config["lr"]))
    criterion = nn.CrossEntropyLoss()

    def step(engine, batch):
        model.train()
        images, labels = batch
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        return loss.item()

    trainer = Engine(step)
    attach_running_loss(trainer, logger)
    attach_validation(trainer, net, criterion, val_loader, logger, every=config["validate_every"])
    trainer.run(train_loader, max_epochs=config["epochs"])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    config = {"seed": 31, "batch_size": 32, "lr": 1e-3, "epochs": 6, "validate_every": 2}
    with idist.Parallel("gloo", nproc_per_node=2, master_addr="127.0.0.1", master_port=free_port()) as parallel:
        parallel.run(training, config)
