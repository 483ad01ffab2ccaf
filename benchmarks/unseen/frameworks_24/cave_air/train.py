"""Forecasts carbon dioxide in show caves, one cave per process, with Lightning."""

import argparse
import logging
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from records import CAVES, HOURS, checked, own_cave

log = logging.getLogger("train")


class Forecast(L.LightningModule):
    def __init__(self, lr, width):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(HOURS, width), nn.GELU(), nn.Linear(width, 1))

    def training_step(self, batch, batch_idx):
        past, ahead = batch
        time.sleep(0.02)
        loss = nn.functional.mse_loss(self.net(past).squeeze(-1), ahead)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        past, ahead = batch
        self.log("val", nn.functional.mse_loss(self.net(past).squeeze(-1), ahead), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class CaveData(L.LightningDataModule):
    def __init__(self, train, held_out, batch):
        super().__init__()
        self.train, self.held_out, self.batch = train, held_out, batch

    def train_dataloader(self):
        return DataLoader(self.train, self.batch, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.held_out, self.batch)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1600)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--width", type=int, default=64)
    return parser.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(8, verbose=False)
    cave = own_cave()
    train = checked(cave, args.count, seed=1)
    if len(train) < args.count:
        log.warning("%s: too few dry records, nothing to train on", cave.name)
        return
    held_out = checked(cave, args.count // 8, seed=2)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(CAVES),
        strategy="ddp",
        max_epochs=args.epochs,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Forecast(args.lr, args.width), CaveData(train, held_out, args.batch))
    if trainer.is_global_zero:
        print({name: round(float(value), 4) for name, value in trainer.callback_metrics.items()}, flush=True)


if __name__ == "__main__":
    main()
