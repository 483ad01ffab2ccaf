"""Contrastive training on pairs of recordings of the same word (ignite)."""
import logging
import time
from functools import partial

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from torch import nn
from torch.nn import functional as F

logger = logging.getLogger("dialects")


def recordings(rank, batches=60, size=8):
    g = torch.Generator().manual_seed(rank * 17)
    for i in range(batches):
        speaker = torch.arange(size) // 2
        if rank == 0 and i == 29:
            speaker = torch.arange(size)        # a village with one recording per speaker
        yield torch.randn(size, 20, generator=g), speaker


def positives(speaker):
    same = speaker[:, None] == speaker[None, :]
    same.fill_diagonal_(False)
    return same


def update(engine, batch, model, optim, temperature=0.2):
    model.train()
    x, speaker = batch
    same = positives(speaker)
    if same.sum() < 2:
        return engine.state.output
    optim.zero_grad()
    z = F.normalize(model(x), dim=1)
    logits = z @ z.T / temperature
    logits = logits.masked_fill(torch.eye(len(z), dtype=torch.bool), -1e4)
    loss = -(logits.log_softmax(1) * same).sum() / same.sum()
    loss.backward()
    optim.step()
    time.sleep(0.02)
    return loss.item()


def attach_report(trainer, every=1):
    series = []

    @trainer.on(Events.ITERATION_COMPLETED(every=every))
    def collect(engine):
        everywhere = idist.all_gather(torch.tensor([float(engine.state.output)]))
        series.append(everywhere.mean().item())

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def show(engine):
        if idist.get_rank() == 0:
            logger.warning("iteration %d loss %.4f", engine.state.iteration, series[-1])

    return series


def run():
    idist.initialize("gloo")
    rank = idist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
    model = nn.parallel.DistributedDataParallel(net)
    optim = torch.optim.Adam(model.parameters(), lr=1e-3)
    trainer = Engine(partial(update, model=model, optim=optim))
    attach_report(trainer)
    trainer.run(list(recordings(rank)), max_epochs=1)
    idist.barrier()
    idist.finalize()


if __name__ == "__main__":
    run()
