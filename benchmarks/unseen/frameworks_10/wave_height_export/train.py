"""Significant wave height from buoy spectra with Lightning (three processes, CPU)."""
import tempfile
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from export import KeepBestForExport


class Spectra(L.LightningDataModule):
    def setup(self, stage=None):
        g = torch.Generator().manual_seed(6)
        peak = torch.rand(3000, generator=g) * 20 + 4
        height = torch.rand(3000, generator=g) * 6
        bins = torch.arange(32.0)
        spectrum = height[:, None] * torch.exp(-((bins - peak[:, None]) ** 2) / 18)
        spectrum = spectrum + 0.1 * torch.randn(3000, 32, generator=g)
        self.train = TensorDataset(spectrum[:2400], height[:2400])
        self.held_out = TensorDataset(spectrum[2400:], height[2400:])

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.held_out, batch_size=50)


class WaveHeight(L.LightningModule):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(32, width), nn.BatchNorm1d(width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1),
        )

    def forward(self, spectrum):
        return self.net(spectrum).squeeze(1)

    def training_step(self, batch, index):
        spectrum, height = batch
        loss = nn.functional.mse_loss(self(spectrum), height)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        spectrum, height = batch
        error = (self(spectrum) - height).square().mean().sqrt()
        self.log("val_rmse", error, sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=2e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
        return {"optimizer": optimizer, "lr_scheduler": schedule}


def main():
    L.seed_everything(2, verbose=False)
    folder = Path(tempfile.mkdtemp(prefix="waves-"))
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=6,
        logger=CSVLogger(folder),
        callbacks=[
            LearningRateMonitor("epoch"),
            EarlyStopping("val_rmse", patience=4),
            KeepBestForExport(folder),
        ],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=10,
    )
    trainer.fit(WaveHeight(), datamodule=Spectra())
    trainer.print("validation:", trainer.callback_metrics["val_rmse"].item())


if __name__ == "__main__":
    main()
