import torch
from torch import nn
from torch.nn import functional as F

from base import MeteredModule


class Forecaster(MeteredModule):
    def __init__(self, horizon: int, hidden: int, layers: int, optim: dict):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(1, hidden, num_layers=layers, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, horizon))

    def forward(self, past):
        states, _ = self.rnn(past.unsqueeze(-1))
        return self.head(states[:, -1])

    def step(self, batch):
        past, future = batch
        scale = past.abs().mean(dim=1, keepdim=True).clamp_min(1e-3)
        forecast = self(past / scale) * scale
        return {"loss": F.smooth_l1_loss(forecast, future), "mae": F.l1_loss(forecast, future)}

    def configure_optimizers(self):
        cfg = self.hparams.optim
        optimizer = torch.optim.AdamW(self.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", **cfg["plateau"])
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "monitor": "val/loss", "interval": "epoch"},
        }
