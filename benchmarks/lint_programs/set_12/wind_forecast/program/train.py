"""python train.py --devices 4   (Lightning starts the processes itself)"""
import argparse

import lightning as L
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from data import WindData
from model import WindForecaster


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--devices", type=int, default=4)
    p.add_argument("--nodes", type=int, default=1)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--history", type=int, default=48)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--out", default="runs/wind")
    return p.parse_args()


def main():
    args = parse()
    L.seed_everything(args.seed, workers=True)
    data = WindData(args.history, args.batch_size, n_train=16384, n_val=4096)
    model = WindForecaster(lr=args.lr)
    trainer = L.Trainer(
        accelerator="gpu",
        devices=args.devices,
        num_nodes=args.nodes,
        strategy="ddp",
        precision="bf16-mixed",
        max_epochs=args.epochs,
        gradient_clip_val=1.0,
        log_every_n_steps=20,
        logger=CSVLogger(args.out, name="csv"),
        callbacks=[
            ModelCheckpoint(dirpath=f"{args.out}/ckpt", every_n_epochs=1, save_last=True),
            LearningRateMonitor(logging_interval="epoch"),
        ],
    )
    trainer.fit(model, datamodule=data)
    trainer.print(f"finished after {trainer.current_epoch} epochs, "
                  f"val/loss {trainer.callback_metrics['val/loss']:.4f}")


if __name__ == "__main__":
    main()
