import argparse

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from callbacks import SnapshotCallback, ThroughputMonitor
from data import KeywordData
from model import KeywordSpotter


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--manifest", required=True)
    p.add_argument("--devices", type=int, default=1)
    p.add_argument("--num-nodes", type=int, default=1)
    p.add_argument("--max-epochs", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=64, help="per device")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="runs/kws")
    args = p.parse_args()

    L.seed_everything(args.seed, workers=True)
    data = KeywordData(args.manifest, batch_size=args.batch_size, seed=args.seed)
    model = KeywordSpotter(max_epochs=args.max_epochs)

    trainer = L.Trainer(
        accelerator="auto",
        devices=args.devices,
        num_nodes=args.num_nodes,
        strategy="ddp" if args.devices * args.num_nodes > 1 else "auto",
        sync_batchnorm=torch.cuda.is_available(),
        max_epochs=args.max_epochs,
        gradient_clip_val=1.0,
        logger=CSVLogger(args.out),
        callbacks=[
            ModelCheckpoint(dirpath=f"{args.out}/best", monitor="val/acc", mode="max", save_last=True),
            SnapshotCallback(f"{args.out}/snapshots", every_n_epochs=5),
            LearningRateMonitor("epoch"),
            ThroughputMonitor(),
        ],
    )
    trainer.fit(model, datamodule=data)


if __name__ == "__main__":
    main()
