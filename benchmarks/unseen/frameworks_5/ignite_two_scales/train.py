"""Landslide risk with pytorch-ignite."""
import time

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from torch.nn.functional import binary_cross_entropy_with_logits

from network import TwoScales

CONFIG = {"epochs": 1, "length": 40, "batch": 6, "lr": 0.02, "seed": 9}


def patches(config, rank):
    """Every process covers a valley; the second one is flat at its end."""
    g = torch.Generator().manual_seed(config["seed"] + rank)
    for i in range(config["length"]):
        patch = torch.rand(config["batch"], 4, 8, 8, generator=g)
        if rank == 1 and i >= 26:
            patch[:, 0] *= 0.3
        yield patch, (patch[:, 1].mean((1, 2)) > 0.5).float()


def create_trainer(model, optimizer):
    def update(engine, batch):
        patch, slid = batch
        model.train()
        optimizer.zero_grad()
        loss = binary_cross_entropy_with_logits(model(patch), slid)
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        return {"loss": loss.item(), "patches": len(patch)}

    return Engine(update)


def attach_progress(trainer):
    totals = {"patches": 0}

    @trainer.on(Events.ITERATION_COMPLETED)
    def count(engine):
        mine = torch.tensor([engine.state.output["patches"]])
        totals["patches"] += idist.all_gather(mine).sum().item()

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def show(engine):
        if idist.get_rank() == 0:
            print(f"{engine.state.iteration:4d} {totals['patches']} patches, loss {engine.state.output['loss']:.4f}", flush=True)


def training(local_rank, config):
    rank = idist.get_rank()
    torch.manual_seed(config["seed"])
    model = idist.auto_model(TwoScales())
    optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=config["lr"]))
    trainer = create_trainer(model, optimizer)
    attach_progress(trainer)
    trainer.run(list(patches(config, rank)), max_epochs=config["epochs"])
    idist.barrier()


if __name__ == "__main__":
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(training, CONFIG)
