"""Tells from its cooling curve whether a bell will crack: one foundry per process, with Lightning."""

import argparse
import tempfile
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from plotter import DrawCracked

POINTS = 80


def castings(foundry, count, cracks, seed):
    """Cooling curves; the last `cracks` bells of the year were cast in damp moulds."""
    g = torch.Generator().manual_seed(1000 * seed + foundry)
    time_axis = torch.linspace(0, 3, POINTS)
    curves = torch.exp(-time_axis) * 2 - 1 + 0.1 * torch.randn(count, POINTS, generator=g)
    cracked = torch.zeros(count)
    cracked[count - cracks :] = 1.0
    curves[cracked > 0.5] += 0.5 * torch.sin(6 * time_axis)
    return TensorDataset(curves, cracked)


class Foundries(L.LightningDataModule):
    def __init__(self, count, batch):
        super().__init__()
        self.count, self.batch = count, batch

    def train_dataloader(self):
        data = castings(self.trainer.global_rank, self.count, self.count // 4, seed=1)
        return DataLoader(data, self.batch, shuffle=True, drop_last=True)

    def test_dataloader(self):
        cracks = (17, 29, 24)[self.trainer.global_rank]
        return DataLoader(castings(self.trainer.global_rank, 160, cracks, seed=2), self.batch)


class CrackModel(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(POINTS, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, curves):
        return self.net(curves).squeeze(-1)

    def training_step(self, batch, batch_idx):
        curves, cracked = batch
        time.sleep(0.02)
        return nn.functional.binary_cross_entropy_with_logits(self(curves), cracked)

    def test_step(self, batch, batch_idx):
        curves, cracked = batch
        right = ((self(curves) > 0) == (cracked > 0.5)).float().mean()
        self.log("accuracy", right, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=960)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(4, verbose=False)
    folder = tempfile.mkdtemp(prefix="bells_")
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[DrawCracked(folder)],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = CrackModel(args.lr)
    data = Foundries(args.count, args.batch)
    trainer.fit(model, data)
    result = trainer.test(model, data, verbose=False)
    if trainer.is_global_zero:
        print(f"accuracy {result[0]['accuracy']:.3f}", flush=True)


if __name__ == "__main__":
    main()
