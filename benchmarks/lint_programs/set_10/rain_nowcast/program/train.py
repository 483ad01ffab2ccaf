import argparse

import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from data import RadarData
from module import Nowcaster


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--devices", type=int, default=4)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--patience", type=int, default=4)
    p.add_argument("--seed", type=int, default=17)
    args = p.parse_args()

    L.seed_everything(args.seed, workers=True)
    callbacks = [
        EarlyStopping(monitor="val/csi", mode="max", patience=args.patience),
        ModelCheckpoint(
            monitor="val/csi",
            mode="max",
            save_top_k=2,
            save_last=True,
            filename="{epoch:03d}",
            auto_insert_metric_name=False,
        ),
        LearningRateMonitor(logging_interval="epoch"),
    ]
    trainer = L.Trainer(
        accelerator="gpu",
        devices=args.devices,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=callbacks,
        logger=CSVLogger("work", name="nowcast"),
        log_every_n_steps=10,
        num_sanity_val_steps=0,
    )
    trainer.fit(Nowcaster(lr=args.lr), datamodule=RadarData(batch_size=args.batch_size))


if __name__ == "__main__":
    main()
