"""What drives the draughts of a cave, with Lightning on a process for each entrance."""

import argparse
import os
import tempfile
import time

import lightning as L
import torch
from torch import nn

from cave import ENTRANCES, SENSORS, Cave
from charts import Chart, Pulse, Settle


class Draught(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(SENSORS, 40), nn.Mish(), nn.Linear(40, 1))

    def training_step(self, batch, batch_idx):
        speed, difference = batch
        time.sleep(0.03)
        loss = nn.functional.mse_loss(self.net(speed).squeeze(-1), difference)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--sections", type=int, default=18)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(11)
    shelf = os.path.join(tempfile.gettempdir(), f"cave_{os.environ.get('MASTER_PORT', '0')}")
    os.makedirs(shelf, exist_ok=True)
    pulse = Pulse()
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(ENTRANCES),
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[Chart(1, args.sections, shelf), pulse, Settle()],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Draught(args.lr), datamodule=Cave(args.batch, shelf))
    if trainer.is_global_zero:
        loss = trainer.callback_metrics["loss"].item()
        print(f"loss {loss:.3f} after {trainer.global_step} steps, {len(pulse.notes)} notes", flush=True)


if __name__ == "__main__":
    main()
