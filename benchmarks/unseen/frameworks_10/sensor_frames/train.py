"""Dents on stamped parts from camera frames, with Lightning; the frames are read by two workers per process."""
import os
import tempfile
from pathlib import Path

import lightning as L
import torch
import torchmetrics
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader

from frames import Frames, record_inspection

FRAMES = 2400
CAPTURING = 1201


class Inspection(L.LightningDataModule):
    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder

    def prepare_data(self):
        if not any(self.folder.glob("*.frame")):
            record_inspection(self.folder, FRAMES, CAPTURING)

    def train_dataloader(self):
        return DataLoader(Frames(self.folder), batch_size=16, num_workers=2, drop_last=True)


class DentNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 36, 2),
        )
        self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=2)

    def training_step(self, batch, index):
        frames, dents = batch
        scores = self.net(frames)
        loss = nn.functional.cross_entropy(scores, dents)
        self.accuracy(scores, dents)
        self.log("accuracy", self.accuracy, on_step=False, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


def main():
    L.seed_everything(3, verbose=False)
    folder = Path(tempfile.gettempdir()) / f"inspection-{os.environ.get('TORCHELASTIC_RUN_ID', 'local')}-{os.getppid()}"
    folder.mkdir(exist_ok=True)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=3,
        logger=False,
        callbacks=[ModelCheckpoint(folder / "checkpoints", monitor="accuracy", mode="max")],
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(DentNet(), datamodule=Inspection(folder))


if __name__ == "__main__":
    main()
