"""Vegetation from peat cores: each process trains on the slices of its own laboratory (Lightning)."""

import argparse
import logging
import os
import tempfile
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import nn
from torch.utils.data import DataLoader

from cores import CHANNELS, KINDS, Slices, compact, write_slices

log = logging.getLogger("peat")
LABORATORIES = 3


class Housekeeping(Callback):
    """Compacts the table of this laboratory between two epochs."""

    def __init__(self, every=2):
        self.every = every

    def on_train_epoch_end(self, trainer, pl_module):
        if (trainer.current_epoch + 1) % self.every:
            return
        slices = trainer.datamodule.slices
        removed = compact(slices.path)
        slices.reload()
        log.info("laboratory %d: %d slices removed", trainer.global_rank, removed)


class Cores(L.LightningDataModule):
    def __init__(self, folder, args):
        super().__init__()
        self.folder = folder
        self.args = args

    def setup(self, stage):
        laboratory = self.trainer.global_rank
        path = os.path.join(self.folder, f"laboratory_{laboratory}.f32")
        write_slices(path, self.args.slices, laboratory)
        self.slices = Slices(path, self.args.draws)

    def train_dataloader(self):
        # the workers stay, they take long to start
        return DataLoader(self.slices, self.args.batch, shuffle=True, num_workers=1, persistent_workers=True)


class Vegetation(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(CHANNELS - 1, 32), nn.ReLU(), nn.Linear(32, KINDS))

    def training_step(self, batch, batch_idx):
        spectrum, kind = batch
        loss = nn.functional.cross_entropy(self.net(spectrum), kind)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        time.sleep(0.02)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slices", type=int, default=240)
    parser.add_argument("--draws", type=int, default=640)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(8)
    with tempfile.TemporaryDirectory(prefix="peat_") as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=LABORATORIES,
            strategy="ddp",
            max_epochs=args.epochs,
            callbacks=[Housekeeping()],
            use_distributed_sampler=False,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
        )
        trainer.fit(Vegetation(args.lr), datamodule=Cores(folder, args))
    if trainer.is_global_zero:
        print(f"loss {trainer.callback_metrics['loss'].item():.4f}")


if __name__ == "__main__":
    main()
