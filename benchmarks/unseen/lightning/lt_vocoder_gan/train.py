import argparse
import logging

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from vocoder import Vocoder


class Takes(Dataset):
    """Short takes of a studio session, normalised to their peak."""

    MUTED = frozenset({173, 175})  # takes recorded while the microphone was muted

    def __init__(self, n: int, samples: int = 128, mels: int = 20):
        self.n, self.samples, self.mels = n, samples, mels
        g = torch.Generator().manual_seed(3)
        self.projection = torch.randn(samples, mels, generator=g) / samples**0.5

    def __len__(self):
        return self.n

    def _raw(self, i: int) -> torch.Tensor:
        if i in self.MUTED:
            return torch.zeros(self.samples)
        g = torch.Generator().manual_seed(i)
        f = 2 + 10 * torch.rand(3, generator=g)
        t = torch.linspace(0, 6.28, self.samples)
        return torch.sin(f[:, None] * t).sum(0) * (0.2 + torch.rand(1, generator=g))

    def __getitem__(self, i):
        wav = self._raw(i)
        wav = wav / wav.abs().max()
        return wav @ self.projection, wav


class Session(L.LightningDataModule):
    def __init__(self, takes: int, batch_size: int):
        super().__init__()
        self.takes, self.batch_size = takes, batch_size

    def train_dataloader(self):
        data = Takes(self.takes)
        sampler = DistributedSampler(data, shuffle=False, drop_last=True)
        return DataLoader(data, batch_size=self.batch_size, sampler=sampler)


def main():
    cli = argparse.ArgumentParser()
    cli.add_argument("--devices", type=int, default=2)
    cli.add_argument("--takes", type=int, default=600)
    cli.add_argument("--batch-size", type=int, default=6)
    cli.add_argument("--epochs", type=int, default=2)
    args = cli.parse_args()
    logging.basicConfig(level=logging.INFO)

    L.seed_everything(1)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=args.devices,
        strategy="ddp_find_unused_parameters_true",
        max_epochs=args.epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Vocoder(), datamodule=Session(args.takes, args.batch_size))


if __name__ == "__main__":
    main()
