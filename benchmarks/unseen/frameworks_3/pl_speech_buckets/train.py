import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.strategies import DDPStrategy

from data import SpeechData


class KeywordNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(13, 32, batch_first=True)
        self.out = nn.Linear(32, 5)

    def forward(self, feats, lengths):
        h, _ = self.gru(feats)
        return self.out(h[torch.arange(len(h)), lengths - 1])

    def training_step(self, batch, batch_idx):
        feats, lengths, label = batch
        time.sleep(0.02)
        return F.cross_entropy(self(feats, lengths), label)

    def validation_step(self, batch, batch_idx):
        feats, lengths, label = batch
        wrong = (self(feats, lengths).argmax(-1) != label).float().mean()
        self.log("val_error", wrong, sync_dist=True, batch_size=len(label))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


if __name__ == "__main__":
    L.seed_everything(0, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu", devices=4, strategy=DDPStrategy(find_unused_parameters=False), max_epochs=3,
        num_sanity_val_steps=0, use_distributed_sampler=False, logger=False, enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(KeywordNet(), datamodule=SpeechData())
