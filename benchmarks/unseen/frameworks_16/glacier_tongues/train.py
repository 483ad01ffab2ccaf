"""Speed of glacier tongues from satellite features and terrain, with Lightning."""

import argparse
import logging
import time

import lightning as L
import torch
from torch import nn

from data import FEATURES, SurveyFlights, TongueData

# (region, epoch): tiles flown again during that epoch
FLIGHTS = {(1, 2): range(0, 80)}


class SpeedModel(L.LightningModule):
    def __init__(self, width, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(FEATURES + 6, width), nn.GELU(), nn.Linear(width, 1))
        self.loss_sum, self.steps = 0.0, 0

    def training_step(self, batch, batch_idx):
        features, speed = batch
        loss = nn.functional.smooth_l1_loss(self.net(features).squeeze(-1), speed)
        self.loss_sum += loss.item()
        self.steps += 1
        time.sleep(0.01)
        return loss

    def on_train_epoch_end(self):
        mean = self.all_gather(torch.tensor(self.loss_sum / self.steps)).mean()
        self.print(f"epoch {self.current_epoch}: {mean:.4f}", flush=True)
        self.loss_sum, self.steps = 0.0, 0

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spots", type=int, default=800)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--width", type=int, default=64)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    L.seed_everything(17)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[SurveyFlights(FLIGHTS)],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = SpeedModel(args.width, lr=2e-3)
    trainer.fit(model, datamodule=TongueData(args.spots, args.batch, args.workers))
    trainer.print("done", flush=True)


if __name__ == "__main__":
    main()
