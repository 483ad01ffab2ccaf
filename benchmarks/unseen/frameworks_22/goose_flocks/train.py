"""Where are geese on the lake? A small convolutional detector with Lightning."""

import argparse
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

from contact_sheet import ContactSheet
from frames import CAMERAS, CHANNELS, Frames


class Detector(L.LightningModule):
    def __init__(self, width=12, lr=3e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(CHANNELS, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, pictures):
        return self.net(pictures).squeeze(1)

    def training_step(self, batch, batch_idx):
        pictures, present = batch
        time.sleep(0.02)
        loss = nn.functional.binary_cross_entropy_with_logits(self(pictures), present)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        pictures, present = batch
        right = ((self(pictures) > 0) == (present > 0.5)).float().mean()
        self.log("val_right", right, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class Lake(L.LightningDataModule):
    """Every process gets the frames of one camera."""

    def __init__(self, per_camera, batch):
        super().__init__()
        self.per_camera = per_camera
        self.batch = batch

    def loader(self, per_camera, seed):
        data = Frames(per_camera, seed)
        return DataLoader(data, batch_size=self.batch, sampler=DistributedSampler(data, shuffle=False))

    def train_dataloader(self):
        return self.loader(self.per_camera, seed=1)

    def val_dataloader(self):
        return self.loader(60, seed=2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=800, help="of each camera")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(2)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(CAMERAS),
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[ContactSheet()],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(Detector(), Lake(args.frames, args.batch))
    if trainer.is_global_zero:
        print({name: round(value.item(), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
