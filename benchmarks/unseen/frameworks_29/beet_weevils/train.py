import os
import tempfile

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from data import SPECIES, FieldSampler, TrapTiles
from recall import SpeciesRecall

FIELDS = 3
TILES = 24


class TrapData(L.LightningDataModule):
    def setup(self, stage=None):
        self.train_set = TrapTiles(FIELDS, 64, seed=1)
        self.val_set = TrapTiles(FIELDS, TILES, seed=2)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=8, shuffle=True, drop_last=True)

    def val_dataloader(self):
        sampler = FieldSampler(TILES, self.trainer.global_rank)
        return DataLoader(self.val_set, batch_size=8, sampler=sampler)


class PestNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(256, len(SPECIES)))
        self.recall = SpeciesRecall()

    def training_step(self, batch, _):
        images, labels = batch
        loss = F.cross_entropy(self.body(images), labels)
        self.log("train/loss", loss)
        return loss

    def on_validation_epoch_start(self):
        self.recall.reset()

    def validation_step(self, batch, _):
        images, labels = batch
        logits = self.body(images)
        self.recall.update(logits.argmax(1), labels)
        self.log("val/loss", F.cross_entropy(logits, labels), sync_dist=True)

    def on_validation_epoch_end(self):
        self.log_dict(self.recall.table(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


if __name__ == "__main__":
    torch.set_num_threads(1)
    L.seed_everything(4)
    root = os.environ.setdefault("TRAP_RUNS", tempfile.mkdtemp(prefix="beet_"))   # children inherit it
    trainer = L.Trainer(
        accelerator="cpu", devices=FIELDS, strategy="ddp", max_epochs=12, default_root_dir=root,
        check_val_every_n_epoch=4, num_sanity_val_steps=0, use_distributed_sampler=True,
        enable_checkpointing=False, logger=False, enable_progress_bar=False, enable_model_summary=False,
        log_every_n_steps=4)
    trainer.fit(PestNet(), datamodule=TrapData())
    trainer.save_checkpoint(os.path.join(root, "pests.ckpt"))
    if trainer.is_global_zero:
        print({name: round(value.item(), 3) for name, value in trainer.callback_metrics.items()})
