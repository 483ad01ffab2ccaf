"""Find cracked bells by their partials."""

import argparse
import tempfile
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tuning import Foundry, Notebook

PARTIALS = 5


class Strokes(Dataset):
    """Frequencies and decay times of a stroke's partials; a large bell takes longer to fade out."""

    def __init__(self, count, seed, slow=0.0):
        g = torch.Generator().manual_seed(seed)
        self.cracked = (torch.rand(count, generator=g) < 0.3).long()
        detune = 0.3 * self.cracked[:, None] * torch.rand(count, PARTIALS, generator=g)
        base = torch.tensor([0.5, 1.0, 1.2, 1.5, 2.0])
        decay = torch.rand(count, PARTIALS, generator=g)
        self.partials = torch.cat([base + detune, decay], dim=1)
        self.slow = slow

    def __len__(self):
        return len(self.cracked)

    def __getitem__(self, i):
        if self.slow and i % 60 == 0:
            time.sleep(self.slow)
        return self.partials[i], self.cracked[i]


class Cracks(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(2 * PARTIALS, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))

    def training_step(self, batch, batch_idx):
        partials, cracked = batch
        return nn.functional.cross_entropy(self.net(partials), cracked)

    def validation_step(self, batch, batch_idx):
        partials, cracked = batch
        logits = self.net(partials)
        self.log("right", (logits.argmax(1) == cracked).float().mean(), sync_dist=True)
        if cracked.sum() == 0:
            return None
        return nn.functional.cross_entropy(logits, cracked)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strokes", type=int, default=720)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(19)
    with tempfile.TemporaryDirectory(prefix="bells_") as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=3,
            strategy="ddp",
            max_epochs=args.epochs,
            callbacks=[Notebook(folder), Foundry()],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            num_sanity_val_steps=0,
        )
        train = DataLoader(Strokes(args.strokes, seed=1, slow=0.8), args.batch, shuffle=True)
        held_out = DataLoader(Strokes(args.strokes // 8, seed=2), args.batch)
        trainer.fit(Cracks(args.lr), train, held_out)
    if trainer.is_global_zero:
        print(f"right: {trainer.callback_metrics['right'].item():.3f}", flush=True)


if __name__ == "__main__":
    main()
