"""How ripe the cheese is, from the probes of three cellars; Lightning, a cellar for each process."""

import argparse
import logging

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import nn

from cellar import PROBES, hours_of

logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)


class Ripening(L.LightningModule):
    def __init__(self, width=32, lr=5e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(PROBES, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, probes):
        return self.net(probes)

    def training_step(self, batch, batch_idx):
        probes, ripeness = batch
        return nn.functional.mse_loss(self(probes), ripeness)

    def validation_step(self, batch, batch_idx):
        probes, ripeness = batch
        self.log("error", (self(probes) - ripeness).abs().mean(), on_epoch=True, sync_dist=True, batch_size=len(probes))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class EveryHundred(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.is_global_zero and batch_idx % 100 == 99:
            print(f"hour {batch_idx + 1}: {float(outputs['loss']):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=int, default=560)
    parser.add_argument("--check-hours", type=int, default=5)
    parser.add_argument("--cellars", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(33, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=args.cellars,
        strategy="ddp",
        max_epochs=1,
        limit_val_batches=args.check_hours,
        num_sanity_val_steps=0,
        callbacks=[EveryHundred()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Ripening()
    trainer.fit(model, hours_of(trainer.global_rank, args.hours))
    results = trainer.validate(model, hours_of(10 + trainer.global_rank, args.check_hours), verbose=False)
    if trainer.is_global_zero:
        print(results, flush=True)


if __name__ == "__main__":
    main()
