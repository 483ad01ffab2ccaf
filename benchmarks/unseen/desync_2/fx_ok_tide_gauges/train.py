import json
import os
import tempfile
import time

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader

from gauges import DAYS, LAGS, GaugeDays


class TideModel(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LAGS, 40), nn.Tanh(), nn.Linear(40, 1))
        self.rejected = 0

    def on_train_epoch_start(self):
        gauge = self.trainer.datamodule.gauge
        mine = torch.tensor(gauge.available(self.current_epoch))
        gauge.limit = int(self.trainer.strategy.reduce(mine, reduce_op="min"))

    def training_step(self, batch, batch_idx):
        lags, level = batch
        time.sleep(0.026)
        predicted = self.net(lags).squeeze(1)
        good = torch.isfinite(level)
        if good.any():
            loss = nn.functional.mse_loss(predicted[good], level[good])
        else:
            self.rejected += 1
            loss = predicted.sum() * 0.0
        if batch_idx % 25 == 24:
            self.log("loss", loss.detach(), on_step=True, on_epoch=False, sync_dist=True, batch_size=len(level))
        return loss

    def on_train_end(self):
        rejected = self.all_gather(torch.tensor([self.rejected]))
        if self.trainer.is_global_zero:
            print("rejected batches by gauge:", rejected.flatten().tolist(), flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


class Gauges(pl.LightningDataModule):
    def setup(self, stage):
        rank = self.trainer.global_rank
        self.gauge = GaugeDays(rank, slow=rank == 3)

    def train_dataloader(self):
        return DataLoader(self.gauge, batch_size=16, drop_last=True)


class DayBook(pl.Callback):
    """The main process writes a table every other day."""

    def __init__(self, folder, seconds):
        self.folder = folder
        self.seconds = seconds

    def on_train_epoch_end(self, trainer, module):
        if not trainer.is_global_zero or trainer.current_epoch % 2:
            return
        norms = {name: float(p.norm()) for name, p in module.named_parameters()}
        with open(os.path.join(self.folder, f"day{trainer.current_epoch}.json"), "w") as f:
            json.dump(norms, f)
        time.sleep(self.seconds)  # the table is rendered
        print(f"day {trainer.current_epoch}: {sum(norms.values()):.3f}", flush=True)


def main():
    torch.set_num_threads(1)
    pl.seed_everything(2, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            accelerator="cpu",
            devices=int(os.environ["LOCAL_WORLD_SIZE"]),
            strategy="ddp",
            max_epochs=DAYS,
            callbacks=[DayBook(folder, seconds=1.2)],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(TideModel(), datamodule=Gauges())


if __name__ == "__main__":
    main()
