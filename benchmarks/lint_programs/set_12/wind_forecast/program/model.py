import lightning as L
import torch
from torch import nn
from torch.nn import functional as F


class Encoder(nn.Module):
    def __init__(self, n_farms, width):
        super().__init__()
        self.farm = nn.Embedding(n_farms, width)
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(),
                                  nn.Linear(width, 1))

    def forward(self, series, farm):
        _, h = self.rnn(series.unsqueeze(-1))
        return self.head(h[-1] + self.farm(farm)).squeeze(-1)


class WindForecaster(L.LightningModule):
    def __init__(self, n_farms: int = 12, width: int = 64, lr: float = 1e-3, wd: float = 1e-2,
                 patience: int = 1, factor: float = 0.5):
        super().__init__()
        self.save_hyperparameters()
        self.net = Encoder(n_farms, width)

    def forward(self, series, farm):
        return self.net(series, farm)

    def _loss(self, batch):
        series, farm, target = batch
        return F.smooth_l1_loss(self(series, farm), target), target.shape[0]

    def training_step(self, batch, batch_idx):
        loss, n = self._loss(batch)
        self.log("train/loss", loss, on_step=True, on_epoch=False, prog_bar=True, batch_size=n)
        return loss

    def validation_step(self, batch, batch_idx):
        loss, n = self._loss(batch)
        self.log("val/loss", loss, on_epoch=True, prog_bar=True, batch_size=n)

    def configure_optimizers(self):
        hp = self.hparams
        decay = [p for p in self.parameters() if p.ndim > 1]
        plain = [p for p in self.parameters() if p.ndim <= 1]
        optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": hp.wd}, {"params": plain, "weight_decay": 0.0}],
            lr=hp.lr,
        )
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode="min", factor=hp.factor, patience=hp.patience, threshold=1e-3)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "monitor": "val/loss",
                             "interval": "epoch", "frequency": 1},
        }
