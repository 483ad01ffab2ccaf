"""Phoneme classes from frames; torchrun --nproc-per-node 3 train.py"""
import time

import ignite.distributed as idist
import torch
from ignite.engine import Engine
from ignite.utils import setup_logger
from torch import nn

from agreement import AnnotatorAgreement, EpochTable

STEPS_PER_EPOCH = 30
DOUBLY_ANNOTATED = {0, 2}


def frames(rank):
    g = torch.Generator().manual_seed(rank)
    while True:
        x = torch.randn(8, 24, generator=g)
        yield x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


def run(local_rank, epochs):
    rank = idist.get_rank()
    logger = setup_logger("phonemes")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 3))
    model = idist.auto_model(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def step(engine, batch):
        x, y = batch
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        return loss.item()

    trainer = Engine(step)
    AnnotatorAgreement(net, DOUBLY_ANNOTATED).attach(trainer)
    EpochTable(logger).attach(trainer)
    trainer.run(frames(rank), epoch_length=STEPS_PER_EPOCH, max_epochs=epochs)
    logger.info("finished")


if __name__ == "__main__":
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(run, epochs=4)
