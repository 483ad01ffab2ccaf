"""Sizes of almonds; Lightning, a process for each plant and an epoch for each load."""

import argparse

import lightning as L
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import nn

from almonds import MEASURES, SIZES, Plants


class Sizer(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.network = nn.Sequential(nn.Linear(MEASURES, 28), nn.GELU(), nn.Linear(28, SIZES))

    def training_step(self, batch, batch_idx):
        measures, size = batch
        logits = self.network(measures)
        return nn.functional.cross_entropy(logits, size, label_smoothing=0.05)

    def configure_optimizers(self):
        return torch.optim.RMSprop(self.parameters(), lr=self.hparams.lr)


class Loads(L.Callback):
    """A line after each load."""

    def on_train_epoch_start(self, trainer, module):
        self.batches, self.total = 0, 0.0

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.batches += 1
        self.total += float(outputs["loss"])

    def on_train_epoch_end(self, trainer, module):
        if trainer.is_global_zero:
            print(f"load {trainer.current_epoch}: {self.batches} batches, {self.total / self.batches:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(61, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy=DDPStrategy(),
        max_epochs=args.loads,
        use_distributed_sampler=False,
        callbacks=[Loads()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Sizer(args.lr), datamodule=Plants())
    trainer.strategy.barrier("sizes")
    if trainer.is_global_zero:
        print("all loads are through", flush=True)


if __name__ == "__main__":
    main()
