"""Tabular credit scoring with ignite."""
import logging
import time

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from torch import nn

from panel import ValidationPanel


def applicants(seed, batches, size=12):
    gen = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(batches):
        x = torch.randn(size, 14, generator=gen)
        out.append((x, (x[:, 0] - x[:, 5] > 0).float()))
    return out


def build_trainer(model, opt):
    def update(engine, batch):
        x, y = batch
        model.train()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
        return loss.item()

    return Engine(update)


def training(local_rank, config):
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    rank = idist.get_rank()
    torch.manual_seed(config["seed"])
    net = nn.Sequential(nn.Linear(14, 20), nn.ReLU(), nn.Linear(20, 1))
    model = idist.auto_model(net)
    opt = idist.auto_optim(torch.optim.Adam(net.parameters(), lr=config["lr"]))
    trainer = build_trainer(model, opt)
    panel = ValidationPanel(net, applicants(777, 6))
    panel.attach(trainer, every=config["panel_every"])

    @trainer.on(Events.EPOCH_COMPLETED)
    @idist.one_rank_only()
    def show(engine):
        print(f"epoch {engine.state.epoch} loss {engine.state.output:.4f}", flush=True)

    trainer.run(applicants(10 + rank, config["batches"]), max_epochs=config["epochs"])
    idist.barrier()


if __name__ == "__main__":
    cfg = {"seed": 5, "lr": 5e-3, "batches": 20, "epochs": 3, "panel_every": 28}
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(training, cfg)
