"""Colours of dyed silk from the recipe, with Lightning; a dye house per process."""

import argparse
import logging
import os
import tempfile
import time
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader, Dataset

from studio import Studio

log = logging.getLogger("silk")
DYES = 10
HOUSES = 3


class Busy(Exception):
    pass


class Spectrometer:
    """Measures a sample; it wants a pause after the lamp was changed."""

    def __init__(self, house, lamp_changes=()):
        self.house = house
        self.refusals = dict.fromkeys(lamp_changes, 3)
        self.colour = torch.randn(DYES, 3, generator=torch.Generator().manual_seed(0)) / DYES**0.5

    def measure(self, i, recipe, noise):
        if self.refusals.get(i, 0) > 0:
            self.refusals[i] -= 1
            raise Busy(f"sample {i}: lamp is cold")
        return recipe @ self.colour + noise

    def patiently(self, *sample):
        pause = 0.5
        while True:
            try:
                return self.measure(*sample)
            except Busy as error:
                log.info("house %d, %s", self.house, error)
                time.sleep(pause)
                pause *= 2


class Samples(Dataset):
    def __init__(self, house, count, seed, lamp_changes=()):
        self.count, self.seed = count, 100 * seed + house
        self.spectrometer = Spectrometer(house, lamp_changes)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 10_000 + i)
        recipe = torch.rand(DYES, generator=g)
        return recipe, self.spectrometer.patiently(i, recipe, 0.05 * torch.randn(3, generator=g))


class Dyes(L.LightningDataModule):
    def __init__(self, args):
        super().__init__()
        self.args = args

    def prepare_data(self):
        time.sleep(4)  # the archive is unpacked on one process

    def train_dataloader(self):
        changes = (300,) if self.trainer.global_rank == 1 else ()
        return DataLoader(Samples(self.trainer.global_rank, self.args.count, 1, changes), self.args.batch)

    def val_dataloader(self):
        return DataLoader(Samples(self.trainer.global_rank, 160, 2), self.args.batch)


class Colour(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(DYES, 32), nn.SiLU(), nn.Linear(32, 3))

    def training_step(self, batch, batch_idx):
        recipe, colour = batch
        time.sleep((0.02, 0.02, 0.035)[self.global_rank])
        return nn.functional.mse_loss(self.net(recipe), colour)

    def validation_step(self, batch, batch_idx):
        recipe, colour = batch
        self.log("val", nn.functional.mse_loss(self.net(recipe), colour), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=960)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(7, verbose=False)
    folder = Path(tempfile.gettempdir()) / f"silk_{os.environ.get('MASTER_PORT', '0')}"
    trainer = L.Trainer(
        accelerator="cpu",
        devices=HOUSES,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[Studio(folder), EarlyStopping("val", patience=2)],
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Colour(args.lr), Dyes(args))
    if trainer.is_global_zero:
        print(f"val {trainer.callback_metrics['val']:.4f}", flush=True)


if __name__ == "__main__":
    main()
