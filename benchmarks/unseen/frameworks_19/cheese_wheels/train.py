"""Which wheels of cheese have their holes in the wrong place? A classifier of taps, with Lightning on three processes."""

import argparse

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from torch import nn

from cellar import BINS, Cellar


class TapClassifier(L.LightningModule):
    def __init__(self, hidden, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Unflatten(1, (1, BINS)),
            nn.Conv1d(1, 8, 5, padding=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(8 * BINS, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def loss(self, batch):
        spectra, holes = batch
        logits = self.net(spectra).squeeze(-1)
        return nn.functional.binary_cross_entropy_with_logits(logits, holes), logits

    def training_step(self, batch, batch_idx):
        loss, _ = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        loss, logits = self.loss(batch)
        right = ((logits > 0) == (batch[1] > 0.5)).float().mean()
        self.log_dict({"val_loss": loss, "val_right": right}, sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.trainer.max_epochs)
        return [optimizer], [schedule]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheels", type=int, default=900)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--csv", help="a folder for the curves")
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    L.seed_everything(6)
    logger = CSVLogger(args.csv) if args.csv else False
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.epochs,
        logger=logger,
        callbacks=[LearningRateMonitor()] if logger else [],
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    cellar = Cellar(args.wheels, args.batch)
    model = TapClassifier(args.hidden, args.lr)
    trainer.fit(model, cellar)
    if trainer.is_global_zero:
        print({name: round(value.item(), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
