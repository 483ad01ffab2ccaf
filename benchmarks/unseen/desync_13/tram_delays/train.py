"""Delay of a tram at its next stop; four depots, each with the entries of its own trams."""

import logging
from dataclasses import dataclass

import lightning as L
import torch
import torch.distributed as dist
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import nn

from averaging import AverageGradients, Losses
from timetable import LINES, parse, stops_loader

logger = logging.getLogger("trams")


@dataclass
class Settings:
    batches: int = 440
    batch_size: int = 8
    hidden: int = 32
    lr: float = 0.01


class DelayModel(L.LightningModule):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.net = nn.Sequential(
            nn.Linear(2 + len(LINES), settings.hidden),
            nn.Tanh(),
            nn.Linear(settings.hidden, 1),
        )

    def training_step(self, batch, batch_idx):
        try:
            features, delays = parse(batch)
        except ValueError as error:
            logger.warning("batch %d is not readable: %s", batch_idx, error)
            return None
        predicted = self.net(features).squeeze(-1)
        return nn.functional.huber_loss(predicted, delays)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.settings.lr, momentum=0.9)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    settings = Settings()
    L.seed_everything(3, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=1,
        strategy=SingleDeviceStrategy(device=torch.device("cpu")),
        plugins=[LightningEnvironment()],
        max_epochs=1,
        callbacks=[AverageGradients(), Losses(60)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    stops = stops_loader(dist.get_rank(), settings.batches, settings.batch_size)
    trainer.fit(DelayModel(settings), stops)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
