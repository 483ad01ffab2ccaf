"""Soil moisture from satellite bands, with a report at the end: torchrun --nproc-per-node 2 train.py"""
import tempfile
import threading
import time
from pathlib import Path

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from ignite.utils import setup_logger
from torch import nn
from torch.utils.data import TensorDataset

import report


def heartbeat(path: Path, period: float = 1.0) -> None:
    """Touches a file that the cluster's dashboard shows as the age of the job."""

    def beat():
        while True:
            path.touch()
            time.sleep(period)

    threading.Thread(target=beat, name="heartbeat", daemon=True).start()


def bands(n=640, seed=0):
    x = torch.rand(n, 6, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, x[:, :2].prod(1) + 0.3 * x[:, 5])


def training(local_rank, config, curves):
    logger = setup_logger("soil")
    torch.manual_seed(6)
    model = idist.auto_model(nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1)))
    optimizer = idist.auto_optim(torch.optim.Adam(model.parameters(), lr=config["lr"]))
    loader = idist.auto_dataloader(bands(), batch_size=32, shuffle=True)

    def step(engine, batch):
        x, y = batch
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.03)
        return loss.item()

    trainer = Engine(step)

    @trainer.on(Events.ITERATION_COMPLETED(every=2))
    def remember(engine):
        curves["loss"].append(idist.all_reduce(engine.state.output) / idist.get_world_size())
        curves["rate"].append(optimizer.param_groups[0]["lr"])

    @trainer.on(Events.EPOCH_COMPLETED)
    def report_epoch(engine):
        logger.info("epoch %d: loss %.4f", engine.state.epoch, curves["loss"][-1])

    trainer.run(loader, max_epochs=config["epochs"])


def main():
    out = Path(tempfile.gettempdir())
    curves = {"loss": [], "rate": []}
    with idist.Parallel(backend="gloo") as parallel:
        rank = idist.get_rank()
        heartbeat(out / f"soil-{rank}.alive")
        parallel.run(training, {"lr": 5e-3, "epochs": 5}, curves)
    if rank == 0:
        report.render(curves, out / "curves.html")
        print("report written", flush=True)


if __name__ == "__main__":
    main()
