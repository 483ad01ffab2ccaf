"""Peak regression for powder diffraction; detector dropouts give patterns that are all NaN."""
import logging
import os
import time
from collections import Counter

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

logger = logging.getLogger("beamline")


class Scan(IterableDataset):
    DROPOUTS = {2: {18}}

    def __init__(self, detector, frames=60, batch=6, channels=64):
        self.detector, self.frames, self.batch, self.channels = detector, frames, batch, channels

    def __iter__(self):
        gen = torch.Generator().manual_seed(500 + self.detector)
        axis = torch.linspace(0, 1, self.channels)
        for frame in range(self.frames):
            centre = torch.rand(self.batch, 1, generator=gen)
            pattern = torch.exp(-((axis - centre) ** 2) / 0.002)
            pattern += 0.05 * torch.rand(pattern.shape, generator=gen)
            if frame in self.DROPOUTS.get(self.detector, ()):
                pattern = pattern * float("nan")
            yield pattern, centre


class Quality:
    def __init__(self):
        self.counts = Counter()

    def usable(self, loss):
        ok = bool(torch.isfinite(loss))
        self.counts["ok" if ok else "rejected"] += 1
        return ok


class PeakFinder(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(64, 32), nn.Softplus(), nn.Dropout(0.1), nn.Linear(32, 16), nn.Softplus(), nn.Linear(16, 1)
        )
        self.quality = Quality()

    def training_step(self, batch, batch_idx):
        pattern, centre = batch
        loss = nn.functional.huber_loss(self.net(pattern), centre, delta=0.1)
        self.log("loss", loss.nan_to_num(), sync_dist=True)
        time.sleep(0.02)
        if not self.quality.usable(loss):
            logger.warning("frame %d of detector %d left out", batch_idx, self.global_rank)
            return None
        return loss

    def on_train_epoch_end(self):
        print(f"detector {self.global_rank}: {dict(self.quality.counts)}")

    def configure_optimizers(self):
        return torch.optim.RMSprop(self.parameters(), lr=1e-3)


def main():
    rank = int(os.environ["RANK"])
    loader = DataLoader(Scan(rank), batch_size=None)
    trainer = pl.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(PeakFinder(), loader)


if __name__ == "__main__":
    main()
