"""Will the lobster moult tonight? Tank sensors, Lightning with DDP on CPU.

    torchrun --nproc-per-node 3 train.py
"""
import os
import tempfile

import lightning as L
import torch
from torch import nn

from probes import BareProbe, SlowArchive
from tanks import TankData


class Moult(L.LightningModule):
    def __init__(self, sensors=6, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.BatchNorm1d(sensors), nn.Linear(sensors, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.binary_cross_entropy_with_logits(self(x), y)
        # a NaN from a dry sensor counts as zero, but the step is made on every rank
        return torch.nan_to_num(loss, nan=0.0)

    def on_train_epoch_end(self):
        rates = self.all_gather(torch.tensor(float(self.global_step)))
        if self.trainer.is_global_zero:
            print(f"epoch {self.current_epoch}: steps {rates.tolist()}", flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def main():
    L.seed_everything(19, verbose=False)
    # the same folder for all ranks of this launch, so it is named after the launcher
    folder = os.path.join(tempfile.gettempdir(), f"lobster_{os.getppid()}")
    os.makedirs(folder, exist_ok=True)
    trainer = L.Trainer(
        accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", max_epochs=2,
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[BareProbe(every=25), SlowArchive(folder)])
    trainer.fit(Moult(), datamodule=TankData(folder))
    trainer.strategy.barrier("before the folder goes")
    if trainer.is_global_zero:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)


if __name__ == "__main__":
    main()
