"""Concentration of a solute from absorption spectra, with Lightning; a run without a test set unless --test is given."""
import argparse
import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from uploads import LabUpload


def spectra(count, seed):
    g = torch.Generator().manual_seed(seed)
    amount = torch.rand(count, 1, generator=g)
    line = torch.exp(-((torch.arange(64.0) - 30) ** 2) / 50)
    return TensorDataset(amount * line + 0.05 * torch.randn(count, 64, generator=g), amount)


class Calibration(L.LightningModule):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, width), nn.Tanh(), nn.Linear(width, 1))

    def _loss(self, batch):
        x, y = batch
        return nn.functional.smooth_l1_loss(self.net(x), y)

    def training_step(self, batch, index):
        return self._loss(batch)

    def validation_step(self, batch, index):
        self.log("val_loss", self._loss(batch), sync_dist=True)

    def test_step(self, batch, index):
        self.log("test_loss", self._loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--test", action="store_true")
    options = parser.parse_args()
    L.seed_everything(1, verbose=False)
    folder = tempfile.mkdtemp(prefix="calibration-")
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=5,
        logger=False,
        callbacks=[LabUpload(), ModelCheckpoint(folder, monitor="val_loss")],
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    train = DataLoader(spectra(1600, 1), batch_size=16, shuffle=True)
    trainer.fit(Calibration(), train, DataLoader(spectra(320, 2), batch_size=32))
    if options.test:
        trainer.test(dataloaders=DataLoader(spectra(320, 3), batch_size=32), ckpt_path="best")
    trainer.print(f"done: {trainer.callback_metrics['val_loss']:.5f}")


if __name__ == "__main__":
    main()
