"""Growth of kelp from water temperature and light, with Lightning."""

import argparse
import logging
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from publish import Journal, Publisher


class Forests(Dataset):
    """Half a month of temperature and light at a kelp forest, and the growth of the fronds."""

    def __init__(self, count, seed, opening=0.0):
        g = torch.Generator().manual_seed(seed)
        self.water = torch.randn(count, 15, 2, generator=g)
        self.growth = self.water[:, :, 1].mean(1) - 0.5 * self.water[:, :, 0].mean(1).abs()
        self.opening = opening

    def __len__(self):
        return len(self.growth)

    def __getitem__(self, i):
        if self.opening:
            time.sleep(self.opening)  # the archive is mounted at the first access
            self.opening = 0.0
        return self.water[i], self.growth[i]


class GrowthModel(L.LightningModule):
    def __init__(self, width=32):
        super().__init__()
        self.rnn = nn.GRU(2, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def error(self, batch):
        water, growth = batch
        return nn.functional.mse_loss(self.head(self.rnn(water)[0][:, -1]).squeeze(-1), growth)

    def training_step(self, batch, batch_idx):
        return self.error(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val", self.error(batch), sync_dist=True)

    def on_validation_epoch_end(self):
        self.print(f"epoch {self.current_epoch}", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--forests", type=int, default=960)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--opening", type=float, default=3.0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    L.seed_everything(8)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[Publisher(epochs=[1, 3]), Journal()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    opening = args.opening if trainer.global_rank == 1 else 0.0
    train = DataLoader(Forests(args.forests, 1, opening), args.batch, num_workers=1)
    held_out = DataLoader(Forests(args.forests // 4, 2), args.batch)
    trainer.fit(GrowthModel(), train, held_out)
    trainer.print("done", flush=True)


if __name__ == "__main__":
    main()
