"""Night frost in vineyards, with Lightning."""

import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping
from torch import nn

from frost import INPUTS, Vineyards


class FrostModel(L.LightningModule):
    def __init__(self, hidden=30, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        self.network = nn.Sequential(nn.Linear(INPUTS, hidden), nn.ELU(), nn.Linear(hidden, 1))

    def training_step(self, batch, batch_idx):
        evening, lowest = batch
        known = lowest.isfinite()
        error = self.network(evening).squeeze(1) - lowest.nan_to_num()
        loss = (error.square() * known).sum() / known.sum().clamp(min=1)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


class Chart(Callback):
    """A chart of the weights, of which one process is in charge."""

    def __init__(self, process, every):
        self.process, self.every = process, every

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_rank == self.process and trainer.global_step % self.every == 0:
            self.draw(module)

    def draw(self, module):
        until = time.monotonic() + 1.3
        while time.monotonic() < until:
            for weights in module.network.parameters():
                torch.histc(weights.detach().flatten(), 30)
            time.sleep(0.02)

    def on_train_epoch_end(self, trainer, module):
        loss = trainer.callback_metrics["loss"].item()
        if trainer.is_global_zero:
            print(f"epoch {trainer.current_epoch}: {loss:.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    L.seed_everything(30, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=8,
        use_distributed_sampler=False,
        callbacks=[EarlyStopping("loss", min_delta=0.05, patience=2), Chart(2, every=90)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(FrostModel(), datamodule=Vineyards(nights=800, batch_size=8))
    trainer.strategy.barrier()
    if trainer.is_global_zero:
        print("done", flush=True)


if __name__ == "__main__":
    main()
