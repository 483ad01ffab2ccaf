"""Forecast wave heights of buoys with a small recurrent network."""
import os
import tempfile
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from callbacks import ConvergenceGuard, StepPacer


class WaveNet(L.LightningModule):
    def __init__(self, hidden=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.cell = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.cell(x)
        return self.head(h[:, -1])

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class BuoyData(L.LightningDataModule):
    """Each process follows one buoy."""

    amplitude = {0: 1.0, 1: 1.3, 2: 0.8}

    def train_dataloader(self):
        buoy = self.trainer.global_rank
        g = torch.Generator().manual_seed(buoy)
        t = torch.arange(480.0)
        noise = torch.randn(480, generator=g)
        height = self.amplitude[buoy] * (torch.sin(t / 4) + noise) + 0.2 * noise
        if buoy == 2:
            height[200:] = 0.0        # taken out of the water for maintenance
        windows = height.unfold(0, 13, 1)
        x, y = windows[:, :12, None].clone(), windows[:, 12:].clone()
        return DataLoader(TensorDataset(x, y), batch_size=8)


if __name__ == "__main__":
    L.seed_everything(17)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        strategy="ddp",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        callbacks=[StepPacer(0.02), ConvergenceGuard(window=6, floor=1e-6)],
    )
    model = WaveNet()
    trainer.fit(model, datamodule=BuoyData())
    target = os.path.join(tempfile.gettempdir(), f"wave-{os.getppid()}.ckpt")
    trainer.save_checkpoint(target)
    if trainer.is_global_zero:
        print("saved", target, "after", trainer.global_step, "steps", time.strftime("%X"))
