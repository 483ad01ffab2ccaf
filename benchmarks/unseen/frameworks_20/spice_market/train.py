"""How many grams of a spice are sold at an hour of the day: a small model of a market with Lightning."""

import argparse

import lightning as L
import torch
from torch import nn

from stalls import Market


class DemandModel(L.LightningModule):
    def __init__(self, width, lr):
        super().__init__()
        self.save_hyperparameters()
        self.embed = None
        self.body = None

    def configure_model(self):
        """The table of spices is as long as the market's vocabulary."""
        if self.embed is not None:
            return
        width = self.hparams.width
        market = self.trainer.datamodule
        self.embed = nn.Embedding(len(market.spices), width)
        self.body = nn.Sequential(nn.Linear(width + 2, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, spice, hour):
        clock = torch.stack([torch.sin(2 * torch.pi * hour), torch.cos(2 * torch.pi * hour)], -1)
        return self.body(torch.cat([self.embed(spice), clock], -1)).squeeze(-1)

    def training_step(self, batch, batch_idx):
        spice, hour, grams = batch
        loss = nn.functional.mse_loss(self(spice, hour), grams)
        self.log("train_mse", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.trainer.max_epochs)
        return {"optimizer": optimizer, "lr_scheduler": schedule}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stalls", type=int, default=18)
    parser.add_argument("--sales", type=int, default=120)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(12)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.epochs,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    market = Market(args.stalls, args.sales, args.batch)
    model = DemandModel(args.width, args.lr)
    trainer.fit(model, datamodule=market)
    if trainer.is_global_zero:
        print(f"mse {trainer.callback_metrics['train_mse'].item():.4f}", flush=True)


if __name__ == "__main__":
    main()
