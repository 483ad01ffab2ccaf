import argparse

import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from datamodule import DefectData
from module import DefectClassifier


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--devices", type=int, default=4)
    p.add_argument("--num-nodes", type=int, default=1)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--root", default="lightning_out")
    p.add_argument("--resume", default=None)
    args = p.parse_args()

    L.seed_everything(1234, workers=True)
    trainer = L.Trainer(
        accelerator="auto",
        devices=args.devices,
        num_nodes=args.num_nodes,
        strategy="ddp",
        sync_batchnorm=True,
        max_epochs=args.epochs,
        default_root_dir=args.root,
        logger=CSVLogger(args.root),
        callbacks=[
            ModelCheckpoint(monitor="val/acc", mode="max", save_last=True),
            EarlyStopping(monitor="val/acc", mode="max", patience=8),
            LearningRateMonitor("step"),
        ],
    )
    trainer.fit(DefectClassifier(), DefectData(args.batch_size), ckpt_path=args.resume)


if __name__ == "__main__":
    main()
