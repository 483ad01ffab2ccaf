"""Two-stage recommender, stage two. One process has to page in the neighbour index before it can sample."""
import argparse
import os
import tempfile
import time

import lightning.pytorch as pl
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NeighbourIndex:
    def __init__(self, n_items, cold_pages):
        self.n_items = n_items
        self.pages = cold_pages

    def page_in(self):
        f = tempfile.TemporaryFile()
        for _ in range(self.pages):
            f.write(os.urandom(1 << 14))
            time.sleep(0.25)

    def sample(self, item, k, g):
        return (item + torch.randint(1, 20, (k,), generator=g)) % self.n_items


class Impressions(Dataset):
    def __init__(self, index, n=480):
        self.index, self.n = index, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        user = torch.randint(0, 100, (), generator=g)
        pos = torch.randint(0, self.index.n_items, (), generator=g)
        return user, torch.cat([pos[None], self.index.sample(pos, 3, g)])


class Ranker(pl.LightningModule):
    def __init__(self, index, d=16):
        super().__init__()
        self.index = index
        self.user, self.item = nn.Embedding(100, d), nn.Embedding(index.n_items, d)
        self.gate = nn.Linear(d, d)

    def on_fit_start(self):
        self.index.page_in()

    def training_step(self, batch, _):
        user, items = batch
        u = self.user(user).sigmoid() * self.gate(self.user(user))
        logits = (self.item(items) * u[:, None]).sum(-1)
        loss = nn.functional.cross_entropy(logits, torch.zeros(len(user), dtype=torch.long))
        self.log("loss", loss, on_epoch=True, on_step=False, sync_dist=True)
        time.sleep(0.02)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adagrad(self.parameters(), lr=0.1)


def render(metrics, sections=14):
    lines = ["# weekly ranking report"]
    for s in range(sections):
        time.sleep(0.6)
        lines.append(f"## segment {s}\nloss {metrics['loss']:.4f}")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cold-rank", type=int, default=1)
    p.add_argument("--pages", type=int, default=60)
    a = p.parse_args()
    rank = int(os.environ["RANK"])
    index = NeighbourIndex(400, a.pages if rank == a.cold_rank else 0)
    trainer = pl.Trainer(
        accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy="ddp", max_epochs=2, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Ranker(index), DataLoader(Impressions(index), batch_size=8, shuffle=True))
    metrics = {k: float(v) for k, v in trainer.callback_metrics.items()}
    dist.destroy_process_group()
    if rank == 0:
        print(render(metrics))


if __name__ == "__main__":
    main()
