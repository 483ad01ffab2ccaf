"""Microscopy denoiser with Lightning; finished epochs go to the archive volume."""
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from archive import ArchiveWriter


class Denoiser(L.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                                 nn.Conv2d(width, 1, 3, padding=1))

    def training_step(self, batch, batch_idx):
        (clean,) = batch
        time.sleep(0.02)
        return nn.functional.mse_loss(self.net(clean + 0.2 * torch.randn_like(clean)), clean)

    def validation_step(self, batch, batch_idx):
        (clean,) = batch
        self.log("val_mse", nn.functional.mse_loss(self.net(clean), clean), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


class Slides(L.LightningDataModule):
    def setup(self, stage):
        g = torch.Generator().manual_seed(4)
        self.data = TensorDataset(torch.randn(288, 1, 12, 12, generator=g))
        self.held_out = TensorDataset(torch.randn(48, 1, 12, 12, generator=g))

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=8, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.held_out, batch_size=8)


if __name__ == "__main__":
    L.seed_everything(0)
    torch.set_num_threads(1)
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=3, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        num_sanity_val_steps=0, callbacks=[ArchiveWriter(epochs={1})],
    )
    trainer.fit(Denoiser(), datamodule=Slides())
    if trainer.is_global_zero:
        print("val_mse", float(trainer.callback_metrics["val_mse"]), flush=True)
