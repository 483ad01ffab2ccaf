import lightning as L
import torch
from torch import nn
from torch.nn import functional as F


class LesionModule(L.LightningModule):
    """A shared encoder, a head for the grade and one for the contour."""

    def __init__(self, lr: float):
        super().__init__()
        self.lr = lr
        self.encoder = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU())
        self.grade = nn.Linear(24, 4)
        self.contour = nn.Conv2d(24, 1, 3, padding=1)

    def losses(self, batch):
        features = self.encoder(batch["image"])
        found = {"grade": F.cross_entropy(self.grade(features.mean(dim=(2, 3))), batch["grade"])}
        drawn = (batch["contour"] >= 0).all(dim=(1, 2, 3))
        if drawn.any():
            found["contour"] = F.binary_cross_entropy_with_logits(
                self.contour(features[drawn]), batch["contour"][drawn]
            )
        return found

    def training_step(self, batch, batch_idx):
        return sum(self.losses(batch).values())

    def validation_step(self, batch, batch_idx):
        found = self.losses(batch)
        self.log("val_grade", found["grade"], sync_dist=True, on_epoch=True)
        self.log("val_contour", found["contour"], sync_dist=True, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)
