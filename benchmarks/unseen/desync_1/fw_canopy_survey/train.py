"""Canopy height from drone images: the network is updated tile by tile along each survey."""

import os
import time
from operator import itemgetter

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from surveys import BANDS, Surveys

TILES = 520


class Canopy(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.automatic_optimization = False
        self.lr = lr
        self.net = nn.Sequential(
            nn.Linear(BANDS, 48),
            nn.ReLU(),
            nn.Linear(48, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )
        self.error = []

    def forward(self, bands):
        return self.net(bands).squeeze(-1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)

    def augment(self, bands):
        time.sleep(0.044)
        return bands + 0.02 * torch.randn_like(bands)

    def fit_tile(self, optimizer, bands, height):
        loss = F.huber_loss(self(self.augment(bands)), height)
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        return loss.item()

    def training_step(self, survey, batch_idx):
        optimizer = self.optimizers()
        for tile in range(len(survey["bands"])):
            clear = survey["clear"][tile]
            if clear.any():
                loss = self.fit_tile(optimizer, survey["bands"][tile][clear], survey["height"][tile][clear])
                self.error.append(loss)
            if self.global_rank == 0 and tile % 65 == 0:
                recent = self.error[-65:]
                print(f"survey {survey['number']} tile {tile}: {sum(recent) / len(recent):.4f}", flush=True)

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.print(f"round {batch_idx}: {len(self.error)} tiles used so far", flush=True)

    def on_train_epoch_end(self):
        mean = torch.tensor(self.error).mean()
        mean = self.trainer.strategy.reduce(mean, reduce_op="mean")
        self.print(f"epoch {self.current_epoch}: error {mean.item():.4f}", flush=True)
        self.error.clear()


def main():
    torch.set_num_threads(1)
    L.seed_everything(12)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loader = DataLoader(Surveys(6, TILES), batch_size=1, collate_fn=itemgetter(0))
    trainer.fit(Canopy(), loader)


if __name__ == "__main__":
    main()
