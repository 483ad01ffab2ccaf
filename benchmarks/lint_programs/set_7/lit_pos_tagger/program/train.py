import argparse

import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from data import TaggingData
from tagger import Tagger


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="data/ud")
    p.add_argument("--devices", type=int, default=4)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--max_words", type=int, default=20000)
    p.add_argument("--num_tags", type=int, default=17)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    L.seed_everything(args.seed, workers=True)
    data = TaggingData(args.root, args.batch_size, args.max_words)
    model = Tagger(args.max_words + 2, args.num_tags, lr=args.lr)
    trainer = L.Trainer(
        accelerator="gpu",
        devices=args.devices,
        strategy="ddp",
        max_epochs=args.epochs,
        gradient_clip_val=1.0,
        logger=CSVLogger("logs", name="tagger"),
        callbacks=[
            ModelCheckpoint(monitor="val_acc", mode="max", save_last=True),
            EarlyStopping(monitor="val_loss", patience=4),
            LearningRateMonitor("step"),
        ],
    )
    trainer.fit(model, datamodule=data)


if __name__ == "__main__":
    main()
