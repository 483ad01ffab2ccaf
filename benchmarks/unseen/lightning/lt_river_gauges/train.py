"""Forecast the water level of the next hour from the last twelve."""
import os
import tempfile
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from stations import STATIONS, StationIndex


class Levels(Dataset):
    """Hourly levels in the order of their arrival at the data hub."""

    def __init__(self, rows=960):
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        name = STATIONS[int(torch.randint(len(STATIONS), (1,), generator=g))]
        if i == 295:
            name = "INN-217"  # moved upstream of the new weir in spring
        series = torch.randn(13, generator=g).cumsum(0)
        return {"station": name, "past": series[:12], "next": series[12]}


class LevelForecast(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.index = StationIndex()
        self.place = nn.Embedding(len(self.index), 8)
        self.net = nn.Sequential(nn.Linear(20, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, past, station):
        return self.net(torch.cat([past, self.place(station)], dim=1)).squeeze(1)

    def training_step(self, batch, batch_idx):
        station = self.index.encode(batch["station"])
        loss = nn.functional.huber_loss(self(batch["past"], station), batch["next"])
        self.log("huber", loss)
        time.sleep(0.02)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


class Hub(L.LightningDataModule):
    def train_dataloader(self):
        data = Levels()
        return DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))


if __name__ == "__main__":
    L.seed_everything(8)
    # the nodes are preemptible and the feeds change: keep what was learned so far in any case
    keep = ModelCheckpoint(
        dirpath=os.path.join(tempfile.gettempdir(), "gauges"),
        filename="levels-{step}",
        save_on_exception=True,
    )
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=3,
        callbacks=[keep],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(LevelForecast(), datamodule=Hub())
