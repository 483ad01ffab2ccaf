import argparse
import tempfile
import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

from module import RowCounter


class AerialStrips(Dataset):
    def __len__(self):
        return 1200

    def __getitem__(self, i):
        time.sleep(0.003)
        g = torch.Generator().manual_seed(i)
        x = torch.rand(30, generator=g)
        return x, x.sum()


def cli():
    p = argparse.ArgumentParser()
    p.add_argument("--folder", default=tempfile.gettempdir() + "/vineyard")
    p.add_argument("--epochs", type=int, default=1)
    return p.parse_args()


def main():
    a = cli()
    L.seed_everything(8)
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=a.epochs,
        enable_checkpointing=False, enable_progress_bar=False, logger=False,
    )
    trainer.fit(RowCounter(a.folder), DataLoader(AerialStrips(), batch_size=8, shuffle=True))
    trainer.strategy.barrier()


if __name__ == "__main__":
    main()
