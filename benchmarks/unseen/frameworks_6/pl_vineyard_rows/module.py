import lightning as L
import torch
from lightning.pytorch.utilities import rank_zero_only
from torch import nn


class RowCounter(L.LightningModule):
    def __init__(self, folder, patience=14):
        super().__init__()
        self.folder, self.patience = folder, patience
        self.net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 1))
        self.best = float("inf")

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.smooth_l1_loss(self.net(x).squeeze(-1), y)
        self.log("count_error", loss, prog_bar=False)
        return loss

    def on_train_batch_end(self, outputs, batch, index):
        if index and index % self.patience == 0:
            self.keep(outputs["loss"].item())

    @rank_zero_only
    def keep(self, error):
        if error < self.best:
            self.best = error
            path = f"{self.folder}/rows-{self.global_step:05d}.ckpt"
            self.trainer.save_checkpoint(path, weights_only=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)
