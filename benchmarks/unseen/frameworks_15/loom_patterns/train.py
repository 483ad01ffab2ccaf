"""Compress the punch cards of a jacquard loom with a small autoencoder (Lightning, DDP)."""

import argparse
import logging

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from preview import Album

log = logging.getLogger("loom")


def weave(count, side, seed):
    """Twills, satins and checks: stripes of two directions, multiplied."""
    g = torch.Generator().manual_seed(seed)
    rows = torch.arange(side).float()[:, None]
    columns = torch.arange(side).float()[None, :]
    cards = []
    for _ in range(count):
        a, b, c, d = torch.rand(4, generator=g) * 0.8 + 0.1
        cloth = torch.sin(a * rows + b * columns) * torch.cos(c * rows - d * columns)
        cards.append((cloth > 0).float().flatten())
    return TensorDataset(torch.stack(cards))


class Cards(L.LightningDataModule):
    def __init__(self, count, side, batch):
        super().__init__()
        self.count, self.side, self.batch = count, side, batch

    def setup(self, stage):
        self.cards = weave(self.count, self.side, seed=5)
        self.sample = weave(self.count // 6, self.side, seed=6)

    def train_dataloader(self):
        return DataLoader(self.cards, self.batch, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.sample, self.batch)


class Punch(L.LightningModule):
    def __init__(self, side, code, lr):
        super().__init__()
        self.side = side
        self.lr = lr
        self.encode = nn.Sequential(nn.Linear(side * side, 64), nn.GELU(), nn.Linear(64, code))
        self.decode = nn.Sequential(nn.Linear(code, 64), nn.GELU(), nn.Linear(64, side * side))

    def forward(self, cards):
        return torch.sigmoid(self.decode(self.encode(cards)))

    def loss(self, batch):
        return nn.functional.binary_cross_entropy(self(batch[0]), batch[0])

    def training_step(self, batch, batch_idx):
        return self.loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_bce", self.loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=480)
    parser.add_argument("--side", type=int, default=48)
    parser.add_argument("--code", type=int, default=12)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(11)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[Album()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(Punch(args.side, args.code, lr=2e-3), Cards(args.cards, args.side, args.batch))
    if trainer.is_global_zero:
        log.info("finished at step %d: %.4f", trainer.global_step, trainer.callback_metrics["val_bce"].item())


if __name__ == "__main__":
    main()
