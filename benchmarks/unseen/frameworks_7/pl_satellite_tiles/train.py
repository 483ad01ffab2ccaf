import os
import time
from pathlib import Path
from tempfile import gettempdir

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from preview import SegmentationPreview


class Tiles(Dataset):
    """Random land-cover tiles: four bands in, one class per pixel out."""

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed * 100003 + index)
        bands = torch.randn(4, 10, 10, generator=g)
        cover = (bands.mean(0) > 0).long() + (bands[0] > 1).long()
        return bands, cover


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class Segmenter(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(block(4, 8), block(8, 8))
        self.classify = nn.Conv2d(8, 3, 1)

    def forward(self, bands):
        return self.classify(self.encoder(bands))

    def training_step(self, batch, batch_idx):
        bands, cover = batch
        time.sleep(0.02)
        return nn.functional.cross_entropy(self(bands), cover)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 1)}


def main():
    L.seed_everything(8, workers=True)
    folder = Path(gettempdir()) / f"preview-{os.getppid()}"
    samples = torch.stack([Tiles(4, 99)[i][0] for i in range(4)])
    trainer = L.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[SegmentationPreview(samples, folder, every=18)],
    )
    trainer.fit(Segmenter(), DataLoader(Tiles(360, 1), batch_size=4, shuffle=True))
    trainer.print("finished at step", trainer.global_step)


if __name__ == "__main__":
    main()
