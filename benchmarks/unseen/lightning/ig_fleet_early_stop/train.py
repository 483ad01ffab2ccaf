"""Remaining useful life of bearings, one fleet per rank for validation (pytorch-ignite)."""
import time
from argparse import ArgumentParser

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from ignite.handlers import EarlyStopping
from ignite.utils import setup_logger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fleets import training_set, validation_set
from scores import ShardError


def create_trainer(model, optimizer):
    def update(engine, batch):
        x, y = (t.to(idist.device()) for t in batch)
        model.train()
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        return loss.item()

    return Engine(update)


def create_evaluator(model):
    def infer(engine, batch):
        model.eval()
        with torch.no_grad():
            x, y = batch
            return model(x).squeeze(1), y

    evaluator = Engine(infer)
    ShardError().attach(evaluator, "rmse")
    return evaluator


def training(local_rank, config):
    logger = setup_logger("rul")
    torch.manual_seed(config["seed"])
    net = nn.Linear(16, 1)
    model = idist.auto_model(net)
    optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=config["lr"]))

    train_loader = DataLoader(TensorDataset(*training_set(idist.get_rank())), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(*validation_set(idist.get_rank())), batch_size=16)
    trainer, evaluator = create_trainer(model, optimizer), create_evaluator(net)

    @trainer.on(Events.ITERATION_COMPLETED(every=config["validate_every"]))
    def validate(engine):
        evaluator.run(val_loader)
        logger.info("step %d rmse %.3f", engine.state.iteration, evaluator.state.metrics["rmse"])

    stopper = EarlyStopping(config["patience"], lambda engine: -engine.state.metrics["rmse"], trainer)
    evaluator.add_event_handler(Events.COMPLETED, stopper)

    trainer.run(train_loader, max_epochs=config["epochs"])

    idist.barrier()
    worst = idist.all_reduce(evaluator.state.metrics["rmse"], op="MAX")
    logger.info("worst fleet: %.3f", worst)


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--patience", type=int, default=3)
    args = parser.parse_args()
    config = {"seed": 1, "lr": 0.01, "epochs": args.epochs, "patience": args.patience, "validate_every": 6}
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(training, config)
