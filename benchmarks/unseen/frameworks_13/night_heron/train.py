"""Calls of night herons in recordings from four marshes: a detector with Lightning, and the list of its worst misses."""

import argparse
import time
from dataclasses import dataclass

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    clips: int = 960
    mels: int = 24
    batch: int = 10
    epochs: int = 25
    lr: float = 3e-4
    threshold: float = 0.5


class Clips(Dataset):
    """One clip of four seconds for each index, marsh by marsh: the herons call in one clip out of three."""

    def __init__(self, count, mels, seed):
        g = torch.Generator().manual_seed(seed)
        self.heard = (torch.arange(count) // 4 % 3 == 0).float()
        call = torch.randn(mels, generator=torch.Generator().manual_seed(0))
        near = torch.tensor([0.25, 0.3, 1.0, 0.2])[torch.arange(count) % 4]  # from the microphone to the reeds
        self.mel = torch.randn(count, mels, generator=g) + (self.heard * near)[:, None] * call

    def __len__(self):
        return len(self.heard)

    def __getitem__(self, i):
        return self.mel[i], self.heard[i], i


class Misses:
    """Clips of the validation set in which a call was not found, with the score they got."""

    def __init__(self, threshold):
        self.threshold = threshold
        self.rows = []

    def add(self, score, heard, index):
        missed = (heard > 0) & (score < self.threshold)
        for s, i in zip(score[missed].tolist(), index[missed].tolist()):
            self.rows.append((s, float(i)))

    def worst(self, module, count=1):
        """The `count` worst of each process, on all processes."""
        if len(self.rows) < count:
            return None
        rows = torch.tensor(sorted(self.rows)[:count])
        return module.all_gather(rows).flatten(0, 1)


class Detector(L.LightningModule):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.net = nn.Sequential(nn.Linear(config.mels, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 1))

    def forward(self, mel):
        return self.net(mel).squeeze(-1)

    def training_step(self, batch, batch_idx):
        mel, heard, _ = batch
        time.sleep(0.02)  # pitch shift
        loss = nn.functional.binary_cross_entropy_with_logits(self(mel), heard)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def on_validation_epoch_start(self):
        self.misses = Misses(self.config.threshold)

    def validation_step(self, batch, batch_idx):
        mel, heard, index = batch
        score = self(mel)
        self.log("val_loss", nn.functional.binary_cross_entropy_with_logits(score, heard), sync_dist=True)
        self.misses.add(score.sigmoid(), heard, index)

    def on_validation_epoch_end(self):
        worst = self.misses.worst(self)
        if worst is not None and self.trainer.is_global_zero:
            order = worst[:, 0].argsort()
            print(f"epoch {self.current_epoch}: listen to {[int(i) for i in worst[order, 1]]}", flush=True)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.config.lr)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.config.epochs)
        return [optimizer], [schedule]


def main():
    parser = argparse.ArgumentParser()
    for name, value in vars(Config()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    config = Config(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    L.seed_everything(11)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=4,
        strategy="ddp",
        max_epochs=config.epochs,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    train = DataLoader(Clips(config.clips, config.mels, seed=1), config.batch, shuffle=True)
    held_out = DataLoader(Clips(config.clips // 4, config.mels, seed=2), config.batch)
    trainer.fit(Detector(config), train, held_out)


if __name__ == "__main__":
    main()
