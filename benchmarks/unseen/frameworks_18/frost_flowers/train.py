"""Growth of frost flowers on young sea ice, from weather of the night: a small Lightning model."""

import argparse
import logging
import tempfile

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from curves import CurveFile

HOURS = 12
QUANTITIES = 5


def nights(count, seed):
    g = torch.Generator().manual_seed(seed)
    weather = torch.randn(count, HOURS, QUANTITIES, generator=g)
    cold = torch.sigmoid(weather[..., 0] - weather[..., 1])
    height = (cold * torch.linspace(0.2, 1.0, HOURS)).sum(1) + 0.2 * torch.randn(count, generator=g)
    return TensorDataset(weather, height)


class Nights(L.LightningDataModule):
    def __init__(self, count, batch):
        super().__init__()
        self.count = count
        self.batch = batch

    def setup(self, stage):
        self.parts = {"fit": nights(self.count, 1), "validate": nights(240, 2), "test": nights(480, 3)}

    def train_dataloader(self):
        return DataLoader(self.parts["fit"], self.batch, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.parts["validate"], self.batch)

    def test_dataloader(self):
        return DataLoader(self.parts["test"], self.batch)


class Growth(L.LightningModule):
    def __init__(self, lr=2e-3, hidden=24):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(QUANTITIES, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def error(self, batch):
        weather, height = batch
        state, _ = self.rnn(weather)
        return nn.functional.l1_loss(self.out(state[:, -1]).squeeze(-1), height)

    def training_step(self, batch, batch_idx):
        loss = self.error(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_error", self.error(batch), sync_dist=True)

    def test_step(self, batch, batch_idx):
        self.log("test_error", self.error(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=4800)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(17)
    with tempfile.TemporaryDirectory(prefix="frost_") as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=3,
            strategy="ddp",
            max_epochs=args.epochs,
            callbacks=[CurveFile(folder)],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        data = Nights(args.nights, args.batch)
        model = Growth()
        trainer.fit(model, data)
        (result,) = trainer.test(model, data, verbose=False)
        if trainer.is_global_zero:
            print(f"mean error {result['test_error']:.3f} mm", flush=True)


if __name__ == "__main__":
    main()
