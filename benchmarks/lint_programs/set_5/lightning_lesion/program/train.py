"""Lesion segmentation on 2-d MR slices.

    python train.py --data slices/ --devices 4
"""
from argparse import ArgumentParser
from pathlib import Path

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, Dataset


class Slices(Dataset):
    """<split>/*.npz with `image` (1, H, W) float32 and `mask` (H, W) uint8, in order of the patients."""

    def __init__(self, root):
        self.files = sorted(Path(root).glob("*.npz"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            return torch.from_numpy(z["image"]), torch.from_numpy(z["mask"]).float()


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()

        def block(cin, cout):
            return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.InstanceNorm2d(cout), nn.LeakyReLU(0.01),
                                 nn.Conv2d(cout, cout, 3, padding=1), nn.InstanceNorm2d(cout), nn.LeakyReLU(0.01))

        self.d1, self.d2, self.d3 = block(1, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.u2, self.u1 = block(6 * width, 2 * width), block(3 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2.0), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, scale_factor=2.0), a], 1))
        return self.out(a).squeeze(1)


def dice_score(pred, target):
    """Dice per slice."""
    pred, target = pred.flatten(1), target.flatten(1)
    inter = (pred * target).sum(1)
    return (2 * inter + 1e-6) / (pred.sum(1) + target.sum(1) + 1e-6)


class LesionNet(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = UNet()

    def loss(self, logits, mask):
        soft = 1 - dice_score(logits.sigmoid(), mask).mean()
        return soft + F.binary_cross_entropy_with_logits(logits, mask)

    def training_step(self, batch, _):
        image, mask = batch
        loss = self.loss(self.net(image), mask)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        image, mask = batch
        logits = self.net(image)
        self.log("val/loss", self.loss(logits, mask), sync_dist=True, batch_size=len(image))
        # dice says little about slices with nothing to find
        lesion = mask.flatten(1).any(1)
        if lesion.any():
            dice = dice_score((logits > 0).float()[lesion], mask[lesion])
            self.log("val/dice_lesion", dice.mean(), sync_dist=True, batch_size=int(lesion.sum()))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    p = ArgumentParser()
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--devices", type=int, default=4)
    p.add_argument("--accelerator", default="auto")
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--workers", type=int, default=4)
    args = p.parse_args()

    L.seed_everything(3, workers=True)
    train = DataLoader(Slices(args.data / "train"), args.batch_size, shuffle=True, num_workers=args.workers)
    val = DataLoader(Slices(args.data / "val"), args.batch_size, num_workers=args.workers)
    trainer = L.Trainer(
        accelerator=args.accelerator, devices=args.devices, strategy="ddp", max_epochs=args.epochs,
        callbacks=[ModelCheckpoint(monitor="val/loss", save_last=True)], log_every_n_steps=10)
    trainer.fit(LesionNet(), train, val)


if __name__ == "__main__":
    main()
