import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightning as L  # noqa: E402
import torch  # noqa: E402

from report import RegionReport  # noqa: E402
from stations import GaugeData  # noqa: E402


class RiverLevel(L.LightningModule):
    """Level of the next six hours from the last day of a gauge."""

    def __init__(self, regions, hidden=32, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.encode = torch.nn.Sequential(torch.nn.Conv1d(2, hidden, 5, stride=2), torch.nn.ReLU())
        self.predict = torch.nn.Linear(hidden * 10, 6)
        self.report = RegionReport(regions)

    def forward(self, x):
        return self.predict(self.encode(x).flatten(1))

    def training_step(self, batch, batch_idx):
        x, y, _ = batch
        return torch.nn.functional.huber_loss(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y, region = batch
        error = (self(x) - y).abs().mean(dim=1)
        self.log("val_mae", error.mean(), batch_size=len(error), sync_dist=True)
        self.report.add(self, error, region)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class Scoreboard(L.Callback):
    def on_validation_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            shown = {k: round(v.item(), 4) for k, v in trainer.callback_metrics.items()}
            print(f"epoch {trainer.current_epoch}: {shown}", flush=True)


def main():
    torch.set_num_threads(1)
    L.seed_everything(17)
    data = GaugeData(windows=160, batch_size=8)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=4,
        strategy="ddp",
        max_epochs=12,
        check_val_every_n_epoch=2,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        callbacks=[Scoreboard()],
    )
    trainer.fit(RiverLevel(data.regions), datamodule=data)
    trainer.print("finished")


if __name__ == "__main__":
    main()
