import argparse
import os
import time
from pathlib import Path

import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from rescue import RescueCheckpoint, StepClock

SPECIES = {"Bp": 0, "Bm": 1, "Mn": 2, "Ea": 3}


class Hydrophone(Dataset):
    """Calls heard by one hydrophone, with the annotator's code of the species."""

    def __init__(self, buoy, calls=320, frames=32):
        gen = torch.Generator().manual_seed(buoy)
        self.spectra = torch.randn(calls, 1, 16, frames, generator=gen)
        codes = list(SPECIES)
        self.codes = [codes[i] for i in torch.randint(4, (calls,), generator=gen).tolist()]
        if buoy == 2:
            self.codes[171] = "BpMn"            # two animals at once

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, index):
        return self.spectra[index], SPECIES[self.codes[index]]


class CallNet(pl.LightningModule):
    def __init__(self, channels: int = 8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1), nn.GroupNorm(2, channels), nn.SiLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(channels * 16, len(SPECIES)))

    def training_step(self, batch, _):
        spectra, species = batch
        time.sleep(0.03)
        loss = F.cross_entropy(self.net(spectra), species)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.RAdam(self.parameters(), lr=3e-3)


class Buoys(pl.LightningDataModule):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size

    def train_dataloader(self):
        return DataLoader(Hydrophone(self.trainer.global_rank), batch_size=self.batch_size)


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--out", type=Path, default=Path("/tmp/whale_calls"))
    a = p.parse_args(argv)
    pl.seed_everything(4)
    trainer = pl.Trainer(
        max_epochs=a.epochs, accelerator="cpu", strategy="ddp", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=1, callbacks=[RescueCheckpoint(a.out), StepClock()], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, use_distributed_sampler=False)
    trainer.fit(CallNet(), datamodule=Buoys(batch_size=8))
    trainer.save_checkpoint(a.out / "final.ckpt")


if __name__ == "__main__":
    main()
