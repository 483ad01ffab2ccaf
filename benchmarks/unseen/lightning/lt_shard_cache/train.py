import logging
import os
import time

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F

from data import ClickLogs


class TwoTower(L.LightningModule):
    def __init__(self, users=300, items=500, dim=16):
        super().__init__()
        self.users = nn.Embedding(users, dim)
        self.items = nn.Embedding(items, dim)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u, i):
        return (self.users(u) * self.items(i)).sum(-1) + self.bias

    def training_step(self, batch, batch_idx):
        u, i, y = batch
        loss = F.binary_cross_entropy_with_logits(self(u, i), y)
        self.log("bce", loss, prog_bar=True)
        time.sleep(0.02)
        return loss

    def on_train_epoch_end(self):
        self.print(f"epoch {self.current_epoch}: bce {float(self.trainer.callback_metrics['bce']):.4f}")

    def configure_optimizers(self):
        return torch.optim.Adagrad(self.parameters(), lr=0.05)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    L.seed_everything(5, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        max_epochs=6,
        use_distributed_sampler=False,
        reload_dataloaders_every_n_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(TwoTower(), datamodule=ClickLogs())
