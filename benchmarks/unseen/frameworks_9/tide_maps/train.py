"""Downscaling of tide model fields; every worker has its own part of the coast."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from coast import SECTIONS, CoastSection
from hooks import AgreedTimeBudget, FieldMaps


class Downscaler(L.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 4, 3, padding=1),
            nn.PixelShuffle(2),
        )

    def forward(self, coarse):
        return self.net(coarse)

    def training_step(self, batch, batch_idx):
        coarse, fine = batch
        loss = nn.functional.mse_loss(self(coarse), fine)
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, batch_idx):
        coarse, fine = batch
        self.log("val_rmse", nn.functional.mse_loss(self(coarse), fine).sqrt(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-3)


class CoastData(L.LightningDataModule):
    def setup(self, stage):
        section = SECTIONS[self.trainer.global_rank]
        self.train = CoastSection(section, fields=160, seed=1)
        self.val = CoastSection(section, fields=24, seed=2)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=4, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=4)


if __name__ == "__main__":
    torch.set_num_threads(1)
    L.seed_everything(12)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(SECTIONS),
        strategy="ddp",
        max_epochs=40,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[FieldMaps(seconds=3.0), AgreedTimeBudget(seconds=9.0)],
    )
    trainer.fit(Downscaler(), datamodule=CoastData())
    trainer.print(f"stopped after epoch {trainer.current_epoch}: rmse {trainer.callback_metrics['val_rmse']:.3f}")
