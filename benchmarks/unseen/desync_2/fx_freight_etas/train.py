import os
import time

import lightning.pytorch as pl
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from orders import FEATURES, DepotOrders

DAYS = 14


class EtaModel(pl.LightningModule):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(FEATURES, width),
            nn.LayerNorm(width),
            nn.ReLU(),
            nn.Linear(width, 1),
        )
        self.orders = 0
        self.error = 0.0

    def training_step(self, batch, batch_idx):
        features, minutes = batch
        time.sleep(0.036)  # map matching
        loss = nn.functional.huber_loss(self.net(features).squeeze(1), minutes)
        self.orders += len(minutes)
        self.error += loss.item() * len(minutes)
        return loss

    def on_train_epoch_end(self):
        if self.trainer.is_global_zero:
            print(f"day {self.current_epoch}: mean error {self.error / self.orders:.4f}", flush=True)

    def on_train_end(self):
        sums = self.all_gather(torch.tensor([self.error, float(self.orders)]))
        total = sums.sum(0)
        if self.trainer.is_global_zero:
            print(f"all depots: {total[0] / total[1]:.4f} over {int(total[1])} orders", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Depots(pl.LightningDataModule):
    def __init__(self, calendar):
        super().__init__()
        self.calendar = calendar

    def train_dataloader(self):
        depot = self.trainer.global_rank
        orders = DepotOrders(depot, self.calendar.get(depot, set()))
        return DataLoader(orders, batch_size=16, drop_last=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    pl.seed_everything(31, verbose=False)
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=DAYS,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(EtaModel(), datamodule=Depots({1: {4}}))
