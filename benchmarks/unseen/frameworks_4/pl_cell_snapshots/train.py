import os
import tempfile
import time

import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from callbacks import SnapshotOnImprovement


class NucleiPatches(Dataset):
    """Synthetic fluorescence patches with blobs; the target is the mask."""

    def __init__(self, n=720, size=16):
        self.n, self.size = n, size
        ax = torch.arange(size).float()
        self.yy, self.xx = torch.meshgrid(ax, ax, indexing="ij")

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        cy, cx = torch.rand(2, generator=g) * self.size
        mask = ((self.yy - cy) ** 2 + (self.xx - cx) ** 2 < 9).float()
        img = mask + 0.3 * torch.randn(self.size, self.size, generator=g)
        return img[None], mask[None]


class MiniUNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.d1 = nn.Conv2d(1, c, 3, padding=1)
        self.d2 = nn.Conv2d(c, 2 * c, 3, stride=2, padding=1)
        self.u1 = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Conv2d(2 * c, 1, 1)

    def forward(self, x):
        a = F.relu(self.d1(x))
        b = F.relu(self.u1(F.relu(self.d2(a))))
        return self.out(torch.cat([a, b], 1))


class Segmenter(pl.LightningModule):
    def __init__(self, lr=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.net = MiniUNet()

    def training_step(self, batch, _):
        img, mask = batch
        logits = self.net(img)
        inter = (logits.sigmoid() * mask).sum()
        dice = 1 - 2 * inter / (logits.sigmoid().sum() + mask.sum() + 1)
        time.sleep(0.02)
        return dice + F.binary_cross_entropy_with_logits(logits, mask)

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 2)}


if __name__ == "__main__":
    pl.seed_everything(17, workers=True)
    trainer = pl.Trainer(
        accelerator="cpu", devices=int(os.getenv("LOCAL_WORLD_SIZE", "1")), strategy="ddp", max_epochs=3,
        callbacks=[SnapshotOnImprovement(tempfile.mkdtemp(prefix="nuclei_"))], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, gradient_clip_val=1.0,
    )
    trainer.fit(Segmenter(), DataLoader(NucleiPatches(), batch_size=4, shuffle=True))
