"""Yield of vineyard plots from multispectral flights, with Lightning and a report after each epoch."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from report import PlotReport


class YieldModule(L.LightningModule):
    def __init__(self, bands: int = 10):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(bands, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(24, 1)

    def forward(self, flight):
        return self.head(self.body(flight).mean(dim=(2, 3))).squeeze(-1)

    def training_step(self, batch, batch_idx):
        flight, tonnes = batch
        loss = nn.functional.mse_loss(self(flight), tonnes)
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, batch_idx):
        flight, tonnes = batch
        self.log("val_error", (self(flight) - tonnes).abs().mean(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def plots(count: int, seed: int):
    g = torch.Generator().manual_seed(seed)
    flight = torch.randn(count, 10, 16, 16, generator=g)
    return TensorDataset(flight, flight[:, 3].mean(dim=(1, 2)) * 8 + 5 + 0.1 * torch.randn(count, generator=g))


def main():
    torch.set_num_threads(1)
    L.seed_everything(8)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=3,
        callbacks=[PlotReport(plots(40, 3), pages=25)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(
        YieldModule(),
        DataLoader(plots(1600, 1), batch_size=8, shuffle=True),
        DataLoader(plots(160, 2), batch_size=16),
    )
    trainer.print(trainer.callback_metrics)


if __name__ == "__main__":
    main()
