"""Card fraud on a transaction graph. Every rank owns the merchants of one region."""
import os
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from reporting import ClasswiseReporting


class RegionEdges(Dataset):
    def __init__(self, region, batches=70, batch=8, quiet=((1, 31),)):
        self.region, self.batch, self.n = region, batch, batches * batch
        self.quiet = [b for r, b in quiet if r == region]

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.region * 100_000 + i)
        src, dst = torch.randn(2, 8, generator=g)
        edge = torch.randn(4, generator=g)
        fraud = i % self.batch == 3 and i // self.batch not in self.quiet
        return src, dst, edge, torch.tensor(float(fraud))


class EdgeScorer(ClasswiseReporting, L.LightningModule):
    def __init__(self, hidden=24):
        super().__init__()
        self.node = nn.Sequential(nn.Linear(8, hidden), nn.ReLU())
        self.edge = nn.Linear(4, hidden)
        self.head = nn.Bilinear(hidden, hidden, 1)

    def forward(self, src, dst, edge):
        return self.head(self.node(src) + self.edge(edge), self.node(dst)).squeeze(-1)

    def training_step(self, batch, batch_idx):
        src, dst, edge, fraud = batch
        logits = self(src, dst, edge)
        weight = self.report("train", logits, fraud)
        time.sleep(0.02)
        return nn.functional.binary_cross_entropy_with_logits(logits, fraud, weight=weight)

    def train_dataloader(self):
        return DataLoader(RegionEdges(self.trainer.global_rank), batch_size=8)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    L.seed_everything(3)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        strategy="ddp",
        max_epochs=2,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(EdgeScorer())
    if trainer.is_global_zero:
        print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
