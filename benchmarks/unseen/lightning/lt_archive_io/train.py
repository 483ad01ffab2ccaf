import tempfile
import time
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from archive import ArchiveIO


class Walks(Dataset):
    """Pairs of nodes that are close in random walks on a citation graph, with one negative."""

    def __init__(self, nodes: int, n: int):
        self.nodes, self.n = nodes, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        a, negative = torch.randint(0, self.nodes, (2,), generator=g)
        return a, (a + 1) % self.nodes, negative


class NodeEmbedding(L.LightningModule):
    def __init__(self, nodes: int, dim: int = 24):
        super().__init__()
        self.table = nn.Embedding(nodes, dim)
        self.project = nn.Linear(dim, dim)

    def training_step(self, batch, batch_idx):
        a, b, c = (self.table(x) for x in batch)
        q = self.project(a)
        loss = F.softplus((q * c).sum(-1) - (q * b).sum(-1)).mean()
        self.log("bpr", loss)
        time.sleep(0.03)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5)


def main():
    nodes = 32_000
    L.seed_everything(0)
    out = Path(tempfile.gettempdir()) / "citation-embedding"
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=1,
        plugins=[ArchiveIO()],
        callbacks=[ModelCheckpoint(dirpath=out, filename="{step}", every_n_train_steps=30, save_top_k=-1)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(NodeEmbedding(nodes), DataLoader(Walks(nodes, 60 * 2 * 8), batch_size=8))
    trainer.print("finished after", trainer.global_step, "steps")


if __name__ == "__main__":
    main()
