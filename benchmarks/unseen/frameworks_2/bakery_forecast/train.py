"""Forecasts tomorrow's sales of each bakery. Started as `python train.py`; Lightning starts the processes."""
import time

import torch
from lightning import LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader, random_split, TensorDataset

from keepsake import Keepsake

WEEKS = 4


def sales(bakeries=800):
    gen = torch.Generator().manual_seed(12)
    base = torch.rand(bakeries, 1, generator=gen) * 3
    days = base + torch.sin(torch.arange(7 * WEEKS + 1) * 0.9) + 0.1 * torch.randn(bakeries, 7 * WEEKS + 1, generator=gen)
    return TensorDataset(days[:, :-1].unsqueeze(2), days[:, -1:])


class Forecaster(LightningModule):
    def __init__(self, hidden=20):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, days):
        return self.head(self.rnn(days)[0][:, -1])

    def _loss(self, batch):
        days, tomorrow = batch
        return nn.functional.huber_loss(self(days), tomorrow)

    def training_step(self, batch, batch_idx):
        time.sleep(0.02)
        return self._loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self._loss(batch), sync_dist=True, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=4e-3)


def main():
    torch.manual_seed(1)
    train, val = random_split(sales(), [0.8, 0.2])
    trainer = Trainer(
        accelerator="cpu", devices=3, strategy="ddp", max_epochs=3,
        callbacks=[Keepsake("/tmp/bakery_forecast", every=20)],
        enable_checkpointing=False, logger=False, enable_progress_bar=False, num_sanity_val_steps=0,
    )
    trainer.fit(Forecaster(), DataLoader(train, batch_size=6, shuffle=True), DataLoader(val, batch_size=10))


if __name__ == "__main__":
    main()
