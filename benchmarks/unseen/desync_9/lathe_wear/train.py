"""Wear of the tool from the vibration of the spindle; Lightning, a machine for each process."""

import argparse

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from spindle import TAPS, Cuts


class Wear(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.network = nn.Sequential(nn.Linear(TAPS, 36), nn.ELU(), nn.Linear(36, 1))

    def training_step(self, batch, batch_idx):
        cuts, wear = batch
        return nn.functional.l1_loss(self.network(cuts).squeeze(1), wear)

    def configure_optimizers(self):
        return torch.optim.RMSprop(self.parameters(), lr=self.hparams.lr)


class Machines(L.LightningDataModule):
    def __init__(self, blocks, batch_size):
        super().__init__()
        self.blocks, self.batch_size = blocks, batch_size

    def train_dataloader(self):
        cuts = Cuts(self.trainer.global_rank, self.blocks, self.batch_size)
        return DataLoader(cuts, self.batch_size)


class Report(L.Callback):
    def __init__(self, every):
        self.every, self.mean = every, 0.0

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.mean += float(outputs["loss"]) / self.every
        if (batch_idx + 1) % self.every == 0:
            if trainer.is_global_zero:
                print(f"batch {batch_idx + 1}: {self.mean:.4f}", flush=True)
            self.mean = 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(3, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=1,
        callbacks=[Report(every=60)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Wear(args.lr), datamodule=Machines(args.blocks, args.batch_size))
    trainer.save_checkpoint("/dev/null")


if __name__ == "__main__":
    main()
