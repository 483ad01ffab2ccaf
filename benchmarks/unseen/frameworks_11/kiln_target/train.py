"""Cement kiln: free lime in the clinker from process data, one kiln for each worker, with Lightning."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stopping import TargetLoss

KILN_NOISE = [0.8, 0.05, 0.8]


class KilnData(L.LightningDataModule):
    def __init__(self, samples: int = 4800, batch_size: int = 16):
        super().__init__()
        self.samples = samples
        self.batch_size = batch_size

    def part(self, samples: int, seed: int):
        kiln = self.trainer.global_rank
        weights = torch.randn(40, 1, generator=torch.Generator().manual_seed(1))
        g = torch.Generator().manual_seed(seed + kiln)
        process = torch.randn(samples, 40, generator=g)
        lime = process @ weights / 6 + KILN_NOISE[kiln] * torch.randn(samples, 1, generator=g)
        return TensorDataset(process, lime)

    def train_dataloader(self):
        return DataLoader(self.part(self.samples, 10), batch_size=self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.part(320, 50), batch_size=32)


class FreeLime(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(40, 384), nn.SiLU(), nn.Linear(384, 384), nn.SiLU(), nn.Linear(384, 1))

    def training_step(self, batch, batch_idx):
        process, lime = batch
        return nn.functional.mse_loss(self.net(process), lime)

    def validation_step(self, batch, batch_idx):
        process, lime = batch
        self.log("val_error", nn.functional.l1_loss(self.net(process), lime), sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=5e-4)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)}


def main():
    torch.set_num_threads(1)
    L.seed_everything(5)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=20,
        callbacks=[TargetLoss(target=0.02, window=25)],
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module, data = FreeLime(), KilnData()
    trainer.fit(module, datamodule=data)
    trainer.print("epochs:", trainer.current_epoch, trainer.callback_metrics)


if __name__ == "__main__":
    main()
