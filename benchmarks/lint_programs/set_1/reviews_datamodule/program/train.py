import argparse

import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

from module import StarModel
from reviews import ReviewsData


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--devices", type=int, default=4)
    ap.add_argument("--max-epochs", type=int, default=10)
    ap.add_argument("--max-vocab", type=int, default=30_000)
    ns = ap.parse_args()

    L.seed_everything(7, workers=True)
    data = ReviewsData(ns.root, max_vocab=ns.max_vocab)
    model = StarModel(vocab_size=ns.max_vocab)

    trainer = L.Trainer(
        accelerator="gpu",
        devices=ns.devices,
        strategy="ddp",
        max_epochs=ns.max_epochs,
        gradient_clip_val=1.0,
        callbacks=[
            ModelCheckpoint("runs", monitor="val/acc", mode="max", save_last=True),
            EarlyStopping("val/acc", mode="max", patience=3),
        ],
    )
    trainer.fit(model, datamodule=data)


if __name__ == "__main__":
    main()
