import argparse

import lightning as L
import yaml
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from data import SalesData
from forecaster import Forecaster


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--resume", default=None)
    args = parser.parse_args()
    with open(args.config) as handle:
        cfg = yaml.safe_load(handle)

    L.seed_everything(cfg["seed"], workers=True)
    data = SalesData(**cfg["data"], seed=cfg["seed"])
    model = Forecaster(horizon=cfg["data"]["horizon"], optim=cfg["optim"], **cfg["model"])

    run = cfg["trainer"]
    trainer = L.Trainer(
        accelerator="auto",
        devices=run["devices"],
        num_nodes=run["num_nodes"],
        strategy="ddp",
        max_epochs=run["max_epochs"],
        gradient_clip_val=run["clip"],
        log_every_n_steps=20,
        logger=CSVLogger(run["out"]),
        callbacks=[
            LearningRateMonitor(logging_interval="epoch"),
            ModelCheckpoint(dirpath=run["out"], filename="{epoch}", save_last=True, every_n_epochs=5, save_top_k=-1),
        ],
    )
    trainer.fit(model, datamodule=data, ckpt_path=args.resume)


if __name__ == "__main__":
    main()
