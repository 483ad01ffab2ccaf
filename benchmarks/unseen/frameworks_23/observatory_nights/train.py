"""Magnitudes of variable stars from differential photometry: three domes, one per process."""

import argparse
import logging
import os
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from night import Clouds, Logbook, NightPlan

APERTURES = 18


class Frames(Dataset):
    """Frames of a season; the first one that a worker reads brings the tape robot into motion."""

    def __init__(self, count, seed, robot):
        self.count = count
        self.seed = seed
        self.robot = robot
        self.warm = False

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not self.warm:
            time.sleep(self.robot)
            self.warm = True
        g = torch.Generator().manual_seed(self.seed * 50_000 + i)
        flux = torch.rand(APERTURES, generator=g) + 0.1
        return flux, -2.5 * flux.mean().log10() + 0.02 * torch.randn((), generator=g)


class Photometry(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(APERTURES, 32), nn.Tanh(), nn.Linear(32, 1))

    def training_step(self, batch, batch_idx):
        flux, magnitude = batch
        # the dome in the valley has more haze, and needs more passes
        for _ in range(1 + 3 * (self.global_rank == 1)):
            time.sleep(0.01)
            flux = flux.clamp_min(0.05)
        return nn.functional.mse_loss(self.net(flux).squeeze(-1), magnitude)

    def validation_step(self, batch, batch_idx):
        flux, magnitude = batch
        self.log("val_mse", nn.functional.mse_loss(self.net(flux).squeeze(-1), magnitude), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=1440)
    parser.add_argument("--nights", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    L.seed_everything(12)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    robot = (0.2, 0.5, 2.5)[rank]
    frames = Frames(args.frames, seed=1, robot=robot)
    held_out = Frames(96, seed=2, robot=0.1)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=world,
        strategy="ddp",
        max_epochs=args.nights,
        callbacks=[NightPlan(fields=20), Clouds(closed={(1, 1)}, wait=4), Logbook(pace=3)],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    train = DataLoader(frames, 8, sampler=DistributedSampler(frames, world, rank), num_workers=1)
    val = DataLoader(held_out, 8, sampler=DistributedSampler(held_out, world, rank, shuffle=False))
    trainer.fit(Photometry(args.lr), train, val)
    print(f"dome {rank}: {trainer.callback_metrics['val_mse'].item():.4f}", flush=True)


if __name__ == "__main__":
    main()
