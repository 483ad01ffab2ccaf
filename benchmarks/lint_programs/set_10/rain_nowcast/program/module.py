import lightning as L
import torch
import torch.nn.functional as F
from torch import nn


class Nowcaster(L.LightningModule):
    def __init__(self, width=32, lr=1e-3, threshold=0.5):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(4, width, 5, padding=2), nn.GELU(),
            nn.Conv2d(width, width, 5, padding=2), nn.GELU(),
            nn.Conv2d(width, 1, 1),
        )
        self.counts = None

    def forward(self, frames):
        return self.net(frames)

    def training_step(self, batch, batch_idx):
        frames, target = batch
        loss = F.mse_loss(self(frames), target)
        self.log("train/loss", loss, on_step=True, prog_bar=True)
        return loss

    def on_validation_epoch_start(self):
        self.counts = torch.zeros(2, device=self.device)

    def validation_step(self, batch, batch_idx):
        frames, target = batch
        pred = self(frames)
        loss = F.mse_loss(pred, target)
        self.log("val/loss", loss, sync_dist=True, batch_size=len(frames))
        wet, rain = pred > self.hparams.threshold, target > self.hparams.threshold
        self.counts[0] += (wet & rain).sum()
        self.counts[1] += (wet | rain).sum()

    def on_validation_epoch_end(self):
        hits, union = self.all_gather(self.counts).view(-1, 2).sum(0)
        csi = hits / union.clamp(min=1)
        if self.trainer.is_global_zero:
            self.log("val/csi", csi, prog_bar=True, rank_zero_only=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, T_max=self.trainer.max_epochs
        )
        return {"optimizer": optimizer, "lr_scheduler": scheduler}
