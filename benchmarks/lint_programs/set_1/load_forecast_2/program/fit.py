import argparse
import json

import pytorch_lightning as pl
from pytorch_lightning.callbacks import LearningRateMonitor, ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger

from forecaster import Forecaster
from windows import LoadData


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.json")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with open(args.config) as fh:
        cfg = json.load(fh)

    pl.seed_everything(args.seed, workers=True)
    trainer = pl.Trainer(
        logger=CSVLogger("logs", name="gru"),
        callbacks=[
            ModelCheckpoint(every_n_epochs=5, save_top_k=-1, filename="{epoch:03d}"),
            LearningRateMonitor("epoch"),
        ],
        **cfg["trainer"],
    )
    model = Forecaster(**cfg["model"], plateau=cfg["plateau"])
    trainer.fit(model, datamodule=LoadData(**cfg["data"]))


if __name__ == "__main__":
    main()
