"""Finetune the adapter: torchrun --nproc-per-node 3 train.py"""
import os
import tempfile

import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from corpus import MixedCorpus
from model import AdapterLM


class CorpusModule(L.LightningDataModule):
    def __init__(self, documents: int = 1800, batch_size: int = 8):
        super().__init__()
        self.documents, self.batch_size = documents, batch_size

    def setup(self, stage):
        self.corpus = MixedCorpus(self.documents)

    def train_dataloader(self):
        # keep the order of the files on disk: they are read sequentially
        sampler = DistributedSampler(self.corpus, shuffle=False)
        return DataLoader(self.corpus, batch_size=self.batch_size, sampler=sampler)


def main():
    L.seed_everything(11)
    run_dir = os.path.join(tempfile.gettempdir(), "adapter_lm")
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=5,
        callbacks=[ModelCheckpoint(dirpath=run_dir, filename="adapter-{epoch}", save_top_k=1)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(AdapterLM(), datamodule=CorpusModule())
    if trainer.is_global_zero:
        print("tokens per epoch on rank 0:", trainer.lightning_module.budget.epochs)


if __name__ == "__main__":
    main()
