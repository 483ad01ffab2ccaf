"""Decay of nitrate film from scanned frames, with Lightning; each process reads the reels of one vault."""

import argparse
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import nn
from torch.utils.data import DataLoader

from reels import PIXELS, VAULTS, Frames


class Decay(L.LightningModule):
    def __init__(self, hidden, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(PIXELS, hidden), nn.ELU(), nn.Linear(hidden, 1))

    def training_step(self, batch, batch_idx):
        pixels, decay = batch
        time.sleep(0.04)
        loss = nn.functional.mse_loss(self.net(pixels).squeeze(-1), decay)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)


class Vaults(L.LightningDataModule):
    """A loader with the frames of this process' vault; the frames of a vault are as many everywhere."""

    def __init__(self, batch, workers):
        super().__init__()
        self.batch = batch
        self.workers = workers

    def train_dataloader(self):
        frames = Frames(self.trainer.global_rank, self.workers)
        return DataLoader(frames, self.batch, num_workers=self.workers)


class Notebook(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            print(f"epoch {trainer.current_epoch}: {trainer.callback_metrics['loss'].item():.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(2)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(VAULTS),
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[Notebook()],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Decay(args.hidden, args.lr), datamodule=Vaults(args.batch, args.workers))


if __name__ == "__main__":
    main()
