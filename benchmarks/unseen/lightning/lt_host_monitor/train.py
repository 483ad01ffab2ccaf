"""Autoencoder for vibration spectra of pumps (anomaly detection)."""
import argparse
import os
import tempfile
import time
from pathlib import Path

import lightning.pytorch as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

from monitor import HostMonitor


class SpectrumAE(pl.LightningModule):
    def __init__(self, bins=64, code=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(bins, 32), nn.GELU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.GELU(), nn.Linear(32, bins))

    def _error(self, batch):
        (x,) = batch
        return F.mse_loss(self.decoder(self.encoder(x)), x)

    def training_step(self, batch, _):
        time.sleep(0.02)
        return self._error(batch)

    def validation_step(self, batch, _):
        self.log("val_error", self._error(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


def spectra(n=768, bins=64):
    g = torch.Generator().manual_seed(4)
    peaks = torch.randint(4, bins - 4, (n, 1), generator=g)
    grid = torch.arange(bins)[None]
    return TensorDataset(torch.exp(-((grid - peaks) ** 2) / 8.0) + 0.05 * torch.rand(n, bins, generator=g))


def main(args):
    pl.seed_everything(4)
    train, val = random_split(spectra(), [672, 96], torch.Generator().manual_seed(0))
    callbacks = [
        HostMonitor(Path(tempfile.gettempdir()) / "pump_host.csv"),
        pl.callbacks.EarlyStopping("val_error", patience=3),
    ]
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(SpectrumAE(), DataLoader(train, batch_size=16, shuffle=True), DataLoader(val, batch_size=16))
    print(f"rank {trainer.global_rank}: fitted, val_error {float(trainer.callback_metrics['val_error']):.4f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    main(parser.parse_args())
