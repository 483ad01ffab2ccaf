"""Direction of the veins in slabs of marble, with Lightning; each process has the blocks of its own saw."""

import argparse
import logging
import os
import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader

from gallery import Gallery, Packer
from quarry import Slabs

BLOCKS = [[0, 1, 3], [4, 2, 6], [7, 8, 5]]


class Saws(L.LightningDataModule):
    """The blocks of this process's saw; the slabs of block 9 are held out, and all processes use them."""

    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def train_dataloader(self):
        return DataLoader(Slabs(BLOCKS[self.trainer.global_rank]), self.batch, num_workers=1)

    def val_dataloader(self):
        return DataLoader(Slabs([9]), 40)


class Veins(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.filters = nn.Conv2d(1, 12, 5)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(12 * 4 * 4, 32), nn.GELU(), nn.Linear(32, 1))
        self.pool = nn.MaxPool2d(2)

    def forward(self, pictures):
        return self.head(self.pool(self.filters(pictures.unsqueeze(1)).abs())).squeeze(-1)

    @torch.no_grad()
    def denoise(self, pictures, limit=60):
        """Smooths until little changes any more: more turns for rougher slabs."""
        for _ in range(limit):
            blurred = nn.functional.avg_pool2d(pictures.unsqueeze(1), 3, 1, 1).squeeze(1)
            change = (blurred - pictures).abs().mean()
            if change < 0.16:
                break
            pictures = 0.8 * pictures + 0.2 * blurred
        return pictures

    def error(self, batch):
        pictures, veins = batch
        return nn.functional.mse_loss(self(self.denoise(pictures)), veins)

    def training_step(self, batch, batch_idx):
        return self.error(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_error", self.error(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(27)
    rank = int(os.environ.get("RANK", 0))
    with tempfile.TemporaryDirectory(prefix="marble_") as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=len(BLOCKS),
            strategy="ddp",
            max_epochs=args.epochs,
            callbacks=[
                EarlyStopping("val_error", patience=3),
                Gallery(folder),
                Packer(folder, rounds=20 if rank == 2 else 6),
            ],
            use_distributed_sampler=False,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        trainer.fit(Veins(), Saws(args.batch))
        if trainer.is_global_zero:
            print(f"error {trainer.callback_metrics['val_error']:.3f}", flush=True)


if __name__ == "__main__":
    main()
