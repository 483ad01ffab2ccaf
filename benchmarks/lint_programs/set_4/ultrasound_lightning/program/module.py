import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torchmetrics.classification import MulticlassJaccardIndex

IGNORE = 255


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, classes, width=32):
        super().__init__()
        self.e1, self.e2, self.e3 = block(1, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.d2, self.d1 = block(6 * width, 2 * width), block(3 * width, width)
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        a = self.e1(x)
        b = self.e2(F.max_pool2d(a, 2))
        c = self.e3(F.max_pool2d(b, 2))
        b = self.d2(torch.cat([b, F.interpolate(c, size=b.shape[-2:])], 1))
        return self.out(self.d1(torch.cat([a, F.interpolate(b, size=a.shape[-2:])], 1)))


class Segmenter(L.LightningModule):
    def __init__(self, classes=4, lr=3e-4, min_pixels=64):
        super().__init__()
        self.save_hyperparameters()
        self.net = UNet(classes)
        self.iou = MulticlassJaccardIndex(classes, ignore_index=IGNORE)

    def forward(self, x):
        return self.net(x)

    def _annotated(self, mask):
        return (mask != IGNORE).sum() >= self.hparams.min_pixels

    def _loss(self, logits, mask):
        return F.cross_entropy(logits, mask, ignore_index=IGNORE)

    def training_step(self, batch, batch_idx):
        image, mask = batch
        if not self._annotated(mask):
            return None  # nothing to learn from in this batch
        loss = self._loss(self(image), mask)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        image, mask = batch
        self.iou.update(self(image).argmax(1), mask)
        self.log("val/iou", self.iou, on_step=False, on_epoch=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(opt, self.trainer.max_epochs)}
