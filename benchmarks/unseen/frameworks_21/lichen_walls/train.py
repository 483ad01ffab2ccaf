"""Cover of lichen on walls with Lightning, one town per process."""

import argparse
import os
import time

import lightning as L
import torch
from torch import nn

from budget import BudgetedModule
from walls import PIXELS, loader

TOWNS = ("Stamford", "Oundle", "Uppingham")


class LichenModel(BudgetedModule):
    def __init__(self, args):
        super().__init__(allowance=args.allowance)
        self.lr = args.lr
        self.net = nn.Sequential(nn.Linear(2 * PIXELS, 64), nn.SiLU(), nn.Linear(64, 1))

    def loss(self, batch):
        estimate = self.net(torch.cat([batch["patch"], batch["mask"]], dim=1)).squeeze(-1)
        return nn.functional.mse_loss(estimate, batch["cover"])

    def training_step(self, batch, batch_idx):
        time.sleep(0.03)
        return self.loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


class Towns(L.LightningDataModule):
    def __init__(self, args):
        super().__init__()
        self.args = args

    @property
    def town(self):
        return self.trainer.global_rank

    def train_dataloader(self):
        return loader(self.town, self.args.patches, self.args.batch, seed=1)

    def val_dataloader(self):
        return loader(self.town, self.args.patches // 8, self.args.batch, seed=2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--patches", type=int, default=800)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--allowance", type=int, default=80_000)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(5)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("WORLD_SIZE", len(TOWNS))),
        strategy="ddp",
        max_epochs=args.epochs,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(LichenModel(args), Towns(args))
    if trainer.is_global_zero:
        print(f"validation loss {trainer.callback_metrics['val_loss'].item():.4f}")


if __name__ == "__main__":
    main()
