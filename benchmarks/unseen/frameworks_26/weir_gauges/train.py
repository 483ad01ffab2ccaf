"""Discharge over a weir from levels along the river, with Lightning on a process for each gauging station."""

import argparse
import time

import lightning as L
import torch
from torch import nn

from gauges import FEATURES, Weir
from tables import BestTable


class Rating(L.LightningModule):
    def __init__(self, hidden, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(FEATURES, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def training_step(self, batch, batch_idx):
        levels, flow = batch
        time.sleep(0.03)  # levels are smoothed on the logger's side
        loss = nn.functional.smooth_l1_loss(self.net(levels).squeeze(-1), flow)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        levels, flow = batch
        error = (self.net(levels).squeeze(-1) - flow).abs().mean()
        self.log("error", error, sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measurements", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--weeks", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=40)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(17)
    best = BestTable()
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.weeks,
        callbacks=[best],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(Rating(args.hidden, args.lr), Weir(args.measurements, args.batch))
    if trainer.is_global_zero:
        print(f"error {trainer.callback_metrics['error'].item():.3f}, tables of {best.donors}")


if __name__ == "__main__":
    main()
