"""How many seeds of a tray will grow? Logistic regression with a hidden layer, in Lightning; one greenhouse per process."""

import argparse
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from trays import SOIL, Trays, surprise


class Germination(L.LightningModule):
    def __init__(self, hidden, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(SOIL, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.surprises = []

    def forward(self, soil):
        return torch.sigmoid(self.net(soil).squeeze(-1))

    def training_step(self, batch, batch_idx):
        soil, sown, grown = batch
        loss = nn.functional.binary_cross_entropy(self(soil), grown / sown)
        time.sleep(0.02)
        return loss

    def test_step(self, batch, batch_idx):
        soil, sown, grown = batch
        rates = self(soil)
        for tray in zip(sown.tolist(), grown.tolist(), rates.tolist()):
            self.surprises.append(surprise(*tray))

    def on_test_epoch_end(self):
        mean = torch.tensor(self.surprises).mean()
        self.log("surprise", mean, sync_dist=True)
        self.surprises.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class Houses(L.LightningDataModule):
    """Each process reads the trays of its own greenhouse; the last season is for the test."""

    def __init__(self, trays, batch):
        super().__init__()
        self.trays = trays
        self.batch = batch

    def train_dataloader(self):
        return DataLoader(Trays(self.trainer.global_rank, self.trays, seed=1), self.batch, shuffle=True)

    def test_dataloader(self):
        return DataLoader(Trays(self.trainer.global_rank, self.trays // 4, seed=2), self.batch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trays", type=int, default=480)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seasons", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(9)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.seasons,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    model = Germination(args.hidden, args.lr)
    houses = Houses(args.trays, args.batch)
    trainer.fit(model, houses)
    result = trainer.test(model, houses, verbose=False)
    if trainer.is_global_zero:
        print(result)


if __name__ == "__main__":
    main()
