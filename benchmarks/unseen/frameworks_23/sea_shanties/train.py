"""The next note of a shanty: Lightning with manual optimization, and parts of a batch of bounded size."""

import argparse
import logging
import os
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from score import NOTES, Shanties, by_notes, collate


class Singer(L.LightningModule):
    def __init__(self, limit, lr, width=32):
        super().__init__()
        self.automatic_optimization = False
        self.save_hyperparameters()
        self.embed = nn.Embedding(NOTES + 1, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, NOTES)

    def errors(self, notes):
        """The sum of the errors over all notes of a part."""
        hidden, _ = self.gru(self.embed(notes[:, :-1] + 1))
        return nn.functional.cross_entropy(
            self.out(hidden).flatten(0, 1), notes[:, 1:].flatten(), ignore_index=-1, reduction="sum"
        )

    def training_step(self, songs, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        total = sum(len(song) - 1 for song in songs)
        mean = torch.zeros(())
        for part in by_notes(songs, self.hparams.limit):
            loss = self.errors(part) / total
            self.manual_backward(loss)
            mean += loss.detach()
        self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        optimizer.step()
        time.sleep(0.03)  # tuning
        self.log("train_loss", mean, on_step=True, sync_dist=True)

    def validation_step(self, songs, batch_idx):
        part = nn.utils.rnn.pad_sequence(songs, batch_first=True, padding_value=-1)
        self.log("val_loss", self.errors(part) / part.ge(0).sum(), sync_dist=True, batch_size=len(songs))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--songs", type=int, default=720)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--limit", type=int, default=64, help="notes in a part of a batch")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    L.seed_everything(6)
    company = int(os.environ.get("RANK", 0))
    train = DataLoader(Shanties(company, args.songs, seed=10), args.batch, collate_fn=collate)
    val = DataLoader(Shanties(company, 60, seed=50), args.batch, collate_fn=collate)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("WORLD_SIZE", 1)),
        strategy="ddp",
        max_epochs=args.epochs,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(Singer(args.limit, args.lr), train, val)
    if trainer.is_global_zero:
        print({name: round(value.item(), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
