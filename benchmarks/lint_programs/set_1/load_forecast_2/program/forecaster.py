import pytorch_lightning as pl
import torch
from torch import nn


def pinball(pred, target, quantiles):
    """pred (B, H, Q), target (B, H)"""
    diff = target.unsqueeze(-1) - pred
    q = torch.as_tensor(quantiles, device=pred.device)
    return torch.maximum(q * diff, (q - 1) * diff).mean()


class Forecaster(pl.LightningModule):
    def __init__(self, hidden, layers, quantiles, lr, plateau, n_calendar=6):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.GRU(1 + n_calendar, hidden, layers, batch_first=True, dropout=0.1)
        self.decoder = nn.GRU(n_calendar, hidden, layers, batch_first=True, dropout=0.1)
        self.out = nn.Linear(hidden, len(quantiles))

    def forward(self, past, past_cal, future_cal):
        _, state = self.encoder(torch.cat([past.unsqueeze(-1), past_cal], dim=-1))
        h, _ = self.decoder(future_cal, state)
        return self.out(h)

    def _scores(self, batch):
        pred = self(batch["past"], batch["past_cal"], batch["future_cal"])
        qs = self.hparams.quantiles
        inside = (batch["target"] >= pred[..., 0]) & (batch["target"] <= pred[..., -1])
        return {
            "pinball": pinball(pred, batch["target"], qs),
            "mae": (pred[..., qs.index(0.5)] - batch["target"]).abs().mean(),
            "coverage": inside.float().mean(),
        }

    def _report(self, stage, scores, batch_size):
        for name, value in scores.items():
            self.log(f"{stage}_{name}", value.detach(), on_step=False, on_epoch=True, batch_size=batch_size)

    def training_step(self, batch, batch_idx):
        scores = self._scores(batch)
        self._report("train", scores, len(batch["target"]))
        return scores["pinball"]

    def validation_step(self, batch, batch_idx):
        self._report("val", self._scores(batch), len(batch["target"]))

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-4)
        p = dict(self.hparams.plateau)
        monitor = p.pop("monitor")
        sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="min", **p)
        return {
            "optimizer": opt,
            "lr_scheduler": {"scheduler": sched, "monitor": monitor, "interval": "epoch"},
        }
