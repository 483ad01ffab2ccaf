"""Melt of three glaciers from weather, one glacier per process (Lightning)."""

import argparse
import logging
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

from callbacks import Courier, RunoffModel

GLACIERS = ["Rhone", "Aletsch", "Gorner"]
WEATHER = 12


class Days(Dataset):
    """Days of one glacier; the archive of some is on tape, and opening it takes a worker a while."""

    def __init__(self, glacier, days, seed, tape=0.0):
        g = torch.Generator().manual_seed(10 * seed + glacier)
        weights = torch.randn(WEATHER, generator=torch.Generator().manual_seed(0))
        self.weather = torch.randn(days, WEATHER, generator=g)
        self.melt = torch.relu(self.weather @ weights) + 0.1 * torch.randn(days, generator=g)
        self.tape = tape
        self.opened = False

    def __len__(self):
        return len(self.melt)

    def __getitem__(self, i):
        if not self.opened:
            time.sleep(self.tape if get_worker_info() is not None else 0)
            self.opened = True
        return self.weather[i], self.melt[i]


class Glaciers(L.LightningDataModule):
    def __init__(self, args):
        super().__init__()
        self.args = args

    def setup(self, stage):
        glacier = self.trainer.global_rank
        self.train = Days(glacier, self.args.days, seed=1, tape=(0.2, 1.0, 3.0)[glacier])
        self.held_out = Days(glacier, self.args.days // 4, seed=2)

    def train_dataloader(self):
        return DataLoader(self.train, self.args.batch, shuffle=True, num_workers=1, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.held_out, self.args.batch)


class MeltModel(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(WEATHER, 32), nn.GELU(), nn.Linear(32, 1))

    def error(self, batch):
        weather, melt = batch
        return nn.functional.huber_loss(self.net(weather).squeeze(-1), melt)

    def training_step(self, batch, batch_idx):
        loss = self.error(batch)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.error(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=640)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(4)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(GLACIERS),
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[RunoffModel(rank=1, seconds=5.0), Courier()],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(MeltModel(args.lr), datamodule=Glaciers(args))
    if trainer.is_global_zero:
        print({name: round(value.item(), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
