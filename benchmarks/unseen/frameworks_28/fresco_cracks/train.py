"""Segment cracks in wall paintings. Lightning, DDP on CPU; runs in the preemptible partition.

    torchrun --nproc-per-node 3 train.py
"""
import os
import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn

from cluster import LeaveInTime, spare_partition
from walls import WallModule


class CrackNet(L.LightningModule):
    def __init__(self, width=8, lr=3e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.ReLU(),
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, tile):
        return self.net(tile).squeeze(1)

    def training_step(self, batch, index):
        tile, mask = batch
        # cracks are rare, weigh them up
        return nn.functional.binary_cross_entropy_with_logits(
            self(tile), mask, pos_weight=torch.tensor(6.0))

    def validation_step(self, batch, index):
        tile, mask = batch
        guess = self(tile) > 0
        inter = (guess & mask.bool()).sum()
        dice = 2 * inter / (guess.sum() + mask.sum()).clamp(min=1)
        self.log("dice", dice, sync_dist=True, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    L.seed_everything(7, verbose=False)
    spare_partition(after=14)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp",
            max_epochs=12, check_val_every_n_epoch=2, logger=False,
            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
            default_root_dir=folder,
            callbacks=[
                ModelCheckpoint(dirpath=folder, monitor="dice", mode="max"),
                LeaveInTime(),
            ],
        )
        trainer.fit(CrackNet(), WallModule())
        if trainer.is_global_zero:
            print("stopped at step", trainer.global_step)


if __name__ == "__main__":
    main()
