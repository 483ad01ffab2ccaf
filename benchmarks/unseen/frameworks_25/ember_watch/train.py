"""Fire danger from the logs of three watch towers; each process reads the log of one tower."""

import argparse
import tempfile
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from keeping import LastWords, Steps
from readings import FIELDS, TowerLog

TOWERS = {0: (), 1: (), 2: (2411, 2412, 2413)}


class Danger(L.LightningModule):
    def __init__(self, width, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(len(FIELDS), width), nn.GELU(), nn.Linear(width, 1))

    def training_step(self, batch, batch_idx):
        readings, danger = batch
        time.sleep(0.02)  # the towers' archive is slow
        return nn.functional.mse_loss(self.net(readings).squeeze(-1), danger)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class Towers(L.LightningDataModule):
    def __init__(self, lines, batch):
        super().__init__()
        self.lines = lines
        self.batch = batch

    def train_dataloader(self):
        tower = self.trainer.global_rank
        return DataLoader(TowerLog(tower, self.lines, TOWERS[tower]), self.batch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=4800)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=4e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(11)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=len(TOWERS),
            strategy="ddp",
            max_epochs=2,
            callbacks=[LastWords(folder), Steps(50)],
            use_distributed_sampler=False,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(Danger(args.width, args.lr), Towers(args.lines, args.batch))
    print(f"tower {trainer.global_rank}: done")


if __name__ == "__main__":
    main()
