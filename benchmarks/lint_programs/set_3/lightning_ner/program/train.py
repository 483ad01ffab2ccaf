import argparse

import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint

from data import ConllData
from model import Tagger


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/conll")
    ap.add_argument("--devices", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--max-words", type=int, default=50_000)
    ap.add_argument("--seed", type=int, default=13)
    args = ap.parse_args()

    L.seed_everything(args.seed, workers=True)
    dm = ConllData(args.data)
    model = Tagger(args.max_words, len(dm.tags))
    trainer = L.Trainer(
        accelerator="auto",
        devices=args.devices,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[ModelCheckpoint(monitor="val_acc", mode="max", save_top_k=1)],
    )
    trainer.fit(model, dm)


if __name__ == "__main__":
    main()
