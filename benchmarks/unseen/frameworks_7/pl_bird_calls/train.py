"""Bird call detector. The species atlas is unpacked once per machine before training."""
import os
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpeciesAtlas:
    """In-memory index of reference calls. Slow to open for the node's service process."""

    def __init__(self, pages, seconds_per_page):
        self.pages = pages
        self.seconds_per_page = seconds_per_page
        self.index = {}

    def open(self):
        for page in range(self.pages):
            self.index[page] = torch.randn(8, generator=torch.Generator().manual_seed(page))
            time.sleep(self.seconds_per_page)
        return self


class CallDetector(L.LightningModule):
    def __init__(self, atlas_rank=1):
        super().__init__()
        self.atlas_rank = atlas_rank
        self.atlas = None
        self.body = nn.Sequential(nn.Conv1d(1, 6, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.out = nn.Linear(24, 2)
        self.hits = 0

    def setup(self, stage):
        if stage == "fit" and self.trainer.local_rank == self.atlas_rank:
            started = time.monotonic()
            self.atlas = SpeciesAtlas(pages=150, seconds_per_page=0.1).open()
            print(f"atlas with {len(self.atlas.index)} pages in {time.monotonic() - started:.1f} s", flush=True)

    def training_step(self, batch, batch_idx):
        clip, label = batch
        if self.atlas is not None:
            self.hits += int(self.atlas.index[batch_idx % 150].sum() > 0)
        time.sleep(0.03)
        loss = nn.functional.cross_entropy(self.out(self.body(clip)), label)
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, batch_idx):
        clip, label = batch
        pred = self.out(self.body(clip)).argmax(1)
        self.log("val_acc", (pred == label).float().mean(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.RMSprop(self.parameters(), lr=1e-3)


def clips(n, seed):
    g = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.randn(n, 1, 64, generator=g), torch.randint(0, 2, (n,), generator=g))


if __name__ == "__main__":
    torch.manual_seed(4)
    trainer = L.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        max_epochs=3,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(CallDetector(), DataLoader(clips(360, 0), batch_size=6, shuffle=True), DataLoader(clips(60, 1), batch_size=6))
    trainer.print({k: float(v) for k, v in trainer.callback_metrics.items()})
