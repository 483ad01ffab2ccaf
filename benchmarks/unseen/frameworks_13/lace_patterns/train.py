"""Bobbin lace patterns by region with Lightning; after each epoch the first process renders a sheet of samples."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, Dataset

RENDER = """
import hashlib, sys, time
until = time.time() + float(sys.argv[2])
digest = b"lace"
while time.time() < until:
    digest = hashlib.sha256(digest).digest()
    time.sleep(0.001)
open(sys.argv[1], "wb").write(digest)
"""


class Patterns(Dataset):
    def __init__(self, count, seed, slow=False):
        self.count = count
        self.seed = seed
        self.slow = slow

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.slow and i % 60 == 0:
            time.sleep(1.0)  # plates of the old collection are scanned on demand
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        region = i % 5
        return torch.randn(36, generator=g) + 0.5 * region, region


class LaceNet(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(36, 64), nn.GELU(), nn.Linear(64, 5))
        self.lr = lr

    def training_step(self, batch, batch_idx):
        pattern, region = batch
        return nn.functional.cross_entropy(self.net(pattern), region)

    def validation_step(self, batch, batch_idx):
        pattern, region = batch
        self.log("val_loss", nn.functional.cross_entropy(self.net(pattern), region), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


class SampleSheet(Callback):
    """Renders with a program of its own; all processes wait because the sheet is read in the next epoch."""

    def __init__(self, folder, seconds):
        self.folder = pathlib.Path(folder)
        self.seconds = seconds

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            sheet = self.folder / f"sheet_{trainer.current_epoch}.bin"
            command = [sys.executable, "-c", RENDER, str(sheet), str(self.seconds)]
            subprocess.run(command, check=True, stdout=subprocess.PIPE)
            print(f"epoch {trainer.current_epoch}: {sheet.stat().st_size} bytes", flush=True)
        trainer.strategy.barrier("sheet")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--patterns", type=int, default=600)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--render-seconds", type=float, default=5.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(8)
    slow = os.environ.get("RANK") == "1"
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=3,
            strategy="ddp",
            max_epochs=args.epochs,
            callbacks=[
                SampleSheet(folder, args.render_seconds),
                EarlyStopping("val_loss", patience=5),
                ModelCheckpoint(folder, monitor="val_loss"),
            ],
            logger=False,
            enable_progress_bar=False,
        )
        train = DataLoader(Patterns(args.patterns, 1, slow), 10, shuffle=True)
        trainer.fit(LaceNet(), train, DataLoader(Patterns(150, 2), 10))


if __name__ == "__main__":
    main()
