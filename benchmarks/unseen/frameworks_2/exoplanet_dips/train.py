"""Find transits in light curves. The archive's mirror is unreliable, and the first read of a field is slow."""
import os
import random
import threading
import time
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader, Dataset


class MirrorBusy(OSError):
    pass


class Mirror:
    def __init__(self, seed=3):
        self.rng = random.Random(seed)

    def get(self, name, attempts=40, pause=0.5):
        for attempt in range(attempts):
            try:
                return self._once(name)
            except MirrorBusy as error:
                print(f"{error}; next try in {pause:.1f} s", flush=True)
                time.sleep(pause)
        raise TimeoutError(name)

    def _once(self, name):
        if self.rng.random() < 0.7:
            raise MirrorBusy(f"503 for {name}")
        return name.encode()


class LightCurves(Dataset):
    def __init__(self, field, stars=480, points=64):
        gen = torch.Generator().manual_seed(field)
        self.flux = 1 + 0.02 * torch.randn(stars, points, generator=gen)
        self.transit = torch.rand(stars, generator=gen) < 0.5
        self.flux[self.transit, 20:28] -= 0.2

    def __len__(self):
        return len(self.flux)

    def __getitem__(self, star):
        return self.flux[star], self.transit[star].float()


class Heartbeat(threading.Thread):
    def __init__(self, rank):
        super().__init__(daemon=True)
        self.file, self.over = Path(f"/tmp/exoplanet-heartbeat-{rank}"), threading.Event()

    def run(self):
        while not self.over.wait(1.0):
            self.file.write_text(str(time.time()))


class Fields(L.LightningDataModule):
    def prepare_data(self):
        mirror = Mirror()
        for field in range(6):
            mirror.get(f"field-{field:02d}.fits")

    def setup(self, stage):
        rank = self.trainer.global_rank
        self.heartbeat = Heartbeat(rank)
        self.heartbeat.start()
        if rank == 1:                       # its disk has just been mounted: 28 parts of half a second
            for _ in range(28):
                time.sleep(0.5)
        self.curves, self.held_out = LightCurves(40), LightCurves(41, stars=96)

    def train_dataloader(self):
        return DataLoader(self.curves, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)

    def val_dataloader(self):
        return DataLoader(self.held_out, batch_size=16)

    def teardown(self, stage):
        self.heartbeat.over.set()


class DipFinder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))

    def loss(self, batch):
        flux, transit = batch
        return nn.functional.binary_cross_entropy_with_logits(self.net(flux).squeeze(1), transit)

    def training_step(self, batch, _):
        time.sleep(0.03)
        return self.loss(batch)

    def validation_step(self, batch, _):
        self.log("val", self.loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    trainer = L.Trainer(accelerator="cpu", devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)), strategy="ddp",
                        max_epochs=4, callbacks=[EarlyStopping("val", patience=3)], logger=False,
                        enable_progress_bar=False, enable_checkpointing=False)
    trainer.fit(DipFinder(), datamodule=Fields())
