"""Detector of bat calls. After each epoch the decision cutoff is tuned along a validation night, clip by clip."""

import os
import time

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from recordings import FRAMES, Night

AUDIBLE = 0.12


class Detector(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Unflatten(1, (1, FRAMES)),
            nn.Conv1d(1, 12, 9, stride=2),
            nn.ReLU(),
            nn.Conv1d(12, 16, 5, stride=2),
            nn.ReLU(),
            nn.AdaptiveMaxPool1d(2),
            nn.Flatten(),
            nn.Linear(32, 1),
        )
        self.cutoff = 0.5
        self.rate = 0.02
        self.missed = self.false = self.heard = 0

    def forward(self, sound):
        return self.net(sound).squeeze(-1)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-3)

    def training_step(self, batch, batch_idx):
        sound, bat = batch
        time.sleep(0.02)
        return F.binary_cross_entropy_with_logits(self(sound), bat)

    def on_validation_epoch_start(self):
        self.missed = self.false = self.heard = 0

    def validation_step(self, batch, batch_idx):
        sound, bat = batch
        audible = sound.abs().amax(dim=1) > AUDIBLE
        if not audible.any():
            return
        found = self.spectral_score(sound[audible]) > self.cutoff
        truth = bat[audible] > 0.5
        counts = torch.stack([(truth & ~found).sum(), (found & ~truth).sum(), audible.sum()])
        self.update_cutoff(self.all_gather(counts))
        if batch_idx % 50 == 0:
            self.print(f"night batch {batch_idx}: cutoff {self.cutoff:.4f}", flush=True)

    def spectral_score(self, sound):
        time.sleep(0.046)
        shifted = [self(sound.roll(k, dims=1)).sigmoid() for k in (-2, 0, 2)]
        return torch.stack(shifted).mean(dim=0)

    def update_cutoff(self, counts):
        """Moves the cutoff down for missed bats and up for false alarms of all boxes."""
        missed, false, heard = counts.sum(dim=0).tolist()
        self.missed += missed
        self.false += false
        self.heard += heard
        self.cutoff += self.rate * (false - missed) / heard
        self.cutoff = min(0.95, max(0.05, self.cutoff))

    def on_validation_epoch_end(self):
        self.print(
            f"epoch {self.current_epoch}: cutoff {self.cutoff:.3f}, {self.missed} missed and {self.false} false"
            f" of {self.heard} clips",
            flush=True,
        )
        self.rate *= 0.7


def main():
    torch.set_num_threads(1)
    L.seed_everything(31)
    train = DataLoader(Night(clips=240, seed=70_000), batch_size=8)
    night = DataLoader(Night(clips=4000, seed=10_000), batch_size=8)
    trainer = L.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=int(os.environ["WORLD_SIZE"]),
        max_epochs=3,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Detector(), train_dataloaders=train, val_dataloaders=night)


if __name__ == "__main__":
    main()
