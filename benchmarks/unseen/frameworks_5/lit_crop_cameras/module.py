import time

import lightning as L
import torch
from torch import nn

CAMERAS = ("left", "right", "boom")


class WeedSegmenter(L.LightningModule):
    """Says for each pixel whether it is a weed; the loss is also shown for each camera."""

    def __init__(self, channels=6, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 1, 1),
        )

    def forward(self, image):
        return self.net(image).squeeze(1)

    def training_step(self, batch, index):
        image, mask, camera = batch
        time.sleep(0.02)
        each = nn.functional.binary_cross_entropy_with_logits(self(image), mask, reduction="none").mean((1, 2))
        self.log("loss", each.mean(), prog_bar=False, sync_dist=True, batch_size=len(image))
        self._log_cameras(each.detach(), camera)
        return each.mean()

    def _log_cameras(self, each, camera):
        for number in camera.unique().tolist():
            chosen = each[camera == number]
            self.log(f"loss/{CAMERAS[number]}", chosen.mean(), sync_dist=True, batch_size=len(chosen))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
