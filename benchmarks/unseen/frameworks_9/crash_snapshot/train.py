"""Anomaly detector for telemetry packets (autoencoder), three workers under torchrun."""
import tempfile
import time

import lightning as L
import torch
from torch import nn

from packets import PacketData
from snapshot import CrashSnapshot


class PacketAutoencoder(L.LightningModule):
    def __init__(self, channels: int = 12, code: int = 4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(channels, 32), nn.SiLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.SiLU(), nn.Linear(32, channels))
        self.norm = nn.LayerNorm(channels)

    def training_step(self, batch, batch_idx):
        time.sleep(0.03)
        x = self.norm(batch)
        return nn.functional.mse_loss(self.decoder(self.encoder(x)), x.detach())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=400)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class Progress(L.Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.is_global_zero and batch_idx % 50 == 0:
            print(f"epoch {trainer.current_epoch} batch {batch_idx} loss {outputs['loss'].item():.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    L.seed_everything(31)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=3,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Progress(), CrashSnapshot(tempfile.mkdtemp(prefix="telemetry-"))],
    )
    trainer.fit(PacketAutoencoder(), datamodule=PacketData(count=9600, batch_size=16))
    trainer.print("all packets seen")


if __name__ == "__main__":
    main()
