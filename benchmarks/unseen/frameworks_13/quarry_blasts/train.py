"""Quarry blast or earthquake? A small convolutional classifier of waveforms with Lightning."""

import argparse
import tempfile
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchmetrics.classification import BinaryAccuracy

from catalog import Catalog, publish


class Waveforms(L.LightningDataModule):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.scratch = None

    def setup(self, stage):
        # every process has the days of its own stations
        if self.scratch is None:
            self.scratch = tempfile.TemporaryDirectory()
            publish(self.scratch.name, self.args.days * self.trainer.world_size, self.args.per_day, self.args.length)

    def days(self):
        start = self.trainer.global_rank * self.args.days
        return range(start, start + self.args.days)

    def train_dataloader(self):
        data = Catalog(self.scratch.name, self.days(), self.args.per_day)
        return DataLoader(data, self.args.batch, num_workers=self.args.workers, persistent_workers=True)

    def teardown(self, stage):
        self.scratch.cleanup()


class BlastNet(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv1d(1, 8, 9, stride=4), nn.ReLU(), nn.Conv1d(8, 16, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4)
        )
        self.head = nn.Linear(64, 1)
        self.accuracy = BinaryAccuracy()

    def forward(self, wave):
        return self.head(self.net(wave[:, None]).flatten(1)).squeeze(-1)

    def training_step(self, batch, batch_idx):
        wave, blast = batch
        logit = self(wave)
        loss = nn.functional.binary_cross_entropy_with_logits(logit, blast.float())
        self.accuracy(logit.sigmoid(), blast)
        self.log("accuracy", self.accuracy, on_step=False, on_epoch=True)
        time.sleep(0.03)
        return loss

    def on_train_epoch_end(self):
        if self.trainer.is_global_zero:
            print(f"epoch {self.current_epoch} done", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--per-day", type=int, default=128)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(0)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=args.epochs,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(BlastNet(), Waveforms(args))


if __name__ == "__main__":
    main()
