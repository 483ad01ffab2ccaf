"""Small U-Net on synthetic organ masks."""
import argparse
import logging
import os
import tempfile
import time

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from exporting import BestDiceExporter


class Ellipses(Dataset):
    """Bright ellipses on a noisy background, with the mask as target."""

    def __init__(self, n: int, size: int = 32):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        cy, cx, ry, rx = (torch.rand(4, generator=g) * 0.3 + torch.tensor([0.35, 0.35, 0.1, 0.1])).tolist()
        ax = torch.linspace(0, 1, self.size)
        mask = (((ax[:, None] - cy) / ry) ** 2 + ((ax[None] - cx) / rx) ** 2 <= 1).float()
        image = mask + 0.3 * torch.randn(self.size, self.size, generator=g)
        return image[None], mask[None]


class UNetLite(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.enc = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.head = nn.Conv2d(2 * width, 1, 1)

    def forward(self, x):
        skip = F.relu(self.enc(x))
        deep = F.relu(self.up(F.relu(self.down(skip))))
        return self.head(torch.cat([skip, deep], dim=1))


class Segmenter(L.LightningModule):
    def __init__(self, lr: float):
        super().__init__()
        self.save_hyperparameters()
        self.net = UNetLite()

    @staticmethod
    def dice(logits, mask):
        p = torch.sigmoid(logits)
        return (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)

    def training_step(self, batch, batch_idx):
        image, mask = batch
        logits = self.net(image)
        dice = self.dice(logits, mask)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + 1 - dice
        self.log("train/loss", loss, on_step=True, on_epoch=False)
        time.sleep(0.02)
        return {"loss": loss, "dice": dice.detach()}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=960)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--export-dir", default=os.path.join(tempfile.gettempdir(), "unet_exports"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    L.seed_everything(7)

    loader = DataLoader(Ellipses(args.images), batch_size=args.batch_size, shuffle=True)
    trainer = L.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[BestDiceExporter(args.export_dir)],
    )
    trainer.fit(Segmenter(args.lr), loader)


if __name__ == "__main__":
    main()
