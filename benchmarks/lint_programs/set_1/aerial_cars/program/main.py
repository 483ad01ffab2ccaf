from argparse import ArgumentParser
from pathlib import Path

import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader

from detector import CarDetector
from tiles import Tiles


def main(args):
    pl.seed_everything(args.seed, workers=True)
    root = Path(args.tiles)
    train = DataLoader(
        Tiles(root / "train", augment=True), args.batch_size, shuffle=True, drop_last=True, num_workers=8, pin_memory=True
    )
    val = DataLoader(Tiles(root / "val", augment=False), args.batch_size, num_workers=4)
    trainer = pl.Trainer(
        accelerator="gpu",
        devices=args.gpus,
        strategy="ddp",
        precision="bf16-mixed",
        max_epochs=args.epochs,
        log_every_n_steps=20,
        callbacks=[ModelCheckpoint(monitor="val/count_error", mode="min", auto_insert_metric_name=False)],
    )
    trainer.fit(CarDetector(), train, val)


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--tiles", required=True)
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=3)
    main(parser.parse_args())
