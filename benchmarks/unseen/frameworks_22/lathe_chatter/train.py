"""Does the lathe chatter? A classifier of short sounds with Lightning."""

import argparse
import os
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader

from signals import SAMPLES, Turns
from tool_room import Drawing, Filing


class Sounds(L.LightningDataModule):
    def __init__(self, turns, batch):
        super().__init__()
        self.turns = turns
        self.batch = batch

    def prepare_data(self):
        time.sleep(3.0)  # the catalogue of tapes, by one process

    def setup(self, stage):
        old = int(os.environ.get("LOCAL_RANK", 0)) == 1
        self.train = Turns(self.turns, seed=1, wind=3.2 if old else 0.2)
        self.held_out = Turns(self.turns // 8, seed=2)

    def train_dataloader(self):
        # workers start anew in every epoch and wind the tape again
        return DataLoader(self.train, batch_size=self.batch, shuffle=True, num_workers=1)

    def val_dataloader(self):
        return DataLoader(self.held_out, batch_size=self.batch)


class ChatterNet(L.LightningModule):
    def __init__(self, lr=3e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Unflatten(1, (1, SAMPLES)),
            nn.Conv1d(1, 8, 7, stride=2),
            nn.ReLU(),
            nn.Conv1d(8, 8, 5, stride=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(1),
        )
        self.net(torch.zeros(1, SAMPLES))

    def loss(self, batch):
        sound, label = batch
        return nn.functional.binary_cross_entropy_with_logits(self.net(sound).squeeze(-1), label)

    def training_step(self, batch, batch_idx):
        time.sleep(0.12 if (batch_idx + self.global_rank) % 9 == 0 else 0.01)
        return self.loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(9)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[Filing(), Drawing(), EarlyStopping("val_loss", patience=2)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(ChatterNet(), Sounds(args.turns, args.batch))
    if trainer.is_global_zero:
        print({name: round(value.item(), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
