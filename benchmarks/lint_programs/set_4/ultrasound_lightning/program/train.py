import argparse

import lightning as L
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from data import UltrasoundData
from module import Segmenter


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--devices", type=int, default=4)
    p.add_argument("--nodes", type=int, default=1)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--lr", type=float, default=3e-4)
    args = p.parse_args()

    L.seed_everything(1, workers=True)
    trainer = L.Trainer(
        accelerator="gpu", devices=args.devices, num_nodes=args.nodes, strategy="ddp",
        max_epochs=args.epochs, precision="bf16-mixed", logger=CSVLogger("logs"),
        callbacks=[ModelCheckpoint(monitor="val/iou", mode="max"), LearningRateMonitor("epoch")],
    )
    trainer.fit(Segmenter(lr=args.lr), datamodule=UltrasoundData(args.data, args.batch_size, args.workers))


if __name__ == "__main__":
    main()
