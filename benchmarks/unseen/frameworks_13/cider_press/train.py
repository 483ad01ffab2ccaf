"""Sugar content of cider apples from near-infrared spectra."""

import argparse
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from callbacks import GoodEnough, RunningLoss

ORCHARDS = ["Hay", "Weobley", "Ledbury"]
BAND = 40


def harvest(per_orchard, seed):
    """Spectra of each orchard; the probe of the first one is old and noisy."""
    g = torch.Generator().manual_seed(seed)
    weights = torch.randn(BAND, generator=torch.Generator().manual_seed(0)) / BAND**0.5
    spectra, sugar = [], []
    for i in range(per_orchard):
        for orchard in range(len(ORCHARDS)):
            spectrum = torch.randn(BAND, generator=g)
            noise = (0.7, 0.6, 0.2)[orchard]
            spectra.append(spectrum)
            sugar.append(spectrum @ weights + noise * torch.randn((), generator=g))
    return TensorDataset(torch.stack(spectra), torch.stack(sugar))


class Apples(L.LightningDataModule):
    def __init__(self, args):
        super().__init__()
        self.args = args

    def setup(self, stage):
        self.train = harvest(self.args.apples, seed=1)
        self.held_out = harvest(self.args.apples // 4, seed=2)

    def loader(self, data):
        # apples come off the belt in the order of the probes
        sampler = DistributedSampler(data, shuffle=False)
        return DataLoader(data, self.args.batch, sampler=sampler)

    def train_dataloader(self):
        return self.loader(self.train)

    def val_dataloader(self):
        return self.loader(self.held_out)

    def test_dataloader(self):
        return self.loader(self.held_out)


class SugarModel(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(BAND, 64), nn.SiLU(), nn.Linear(64, 1))

    def error(self, batch):
        spectrum, sugar = batch
        return nn.functional.mse_loss(self.net(spectrum).squeeze(-1), sugar)

    def training_step(self, batch, batch_idx):
        time.sleep(0.02)  # augmentation
        return self.error(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_mse", self.error(batch), sync_dist=True, prog_bar=True)

    def test_step(self, batch, batch_idx):
        self.log("test_mse", self.error(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--apples", type=int, default=640)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--target", type=float, default=0.12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(3)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(ORCHARDS),
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[RunningLoss(), GoodEnough(args.target)],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    data = Apples(args)
    model = SugarModel(args.lr)
    trainer.fit(model, data)
    trainer.test(model, data, verbose=False)
    if trainer.is_global_zero:
        print({name: round(value.item(), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
