"""Retrieval of recipes with Lightning Fabric: in-batch negatives, and an archive on a slow share after each epoch."""
import tempfile
import time
from pathlib import Path

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

from archive import SlowShare, packed

EPOCHS = 3


class Recipes(Dataset):
    """Pairs of a title and a list of ingredients; every worker opens the index for itself when it starts."""

    def __init__(self, count):
        self.count = count
        self.index = None

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.index is None:
            time.sleep(0.6 if get_worker_info() is not None else 0.0)
            g = torch.Generator().manual_seed(31)
            self.index = torch.randint(0, 2000, (self.count, 14), generator=g)
        row = self.index[i]
        return row[:4], row[2:]


class TwoTowers(nn.Module):
    def __init__(self, words=2000, width=192):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width)
        self.title = nn.Linear(width, 64)
        self.content = nn.Linear(width, 64)

    def forward(self, titles, contents):
        a = nn.functional.normalize(self.title(self.words(titles)), dim=1)
        b = nn.functional.normalize(self.content(self.words(contents)), dim=1)
        return a @ b.T * 12


def main():
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(4, verbose=False)
    folder = Path(fabric.broadcast(tempfile.mkdtemp(prefix="recipes-")))
    model = TwoTowers()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=2e-3))
    loader = fabric.setup_dataloaders(DataLoader(Recipes(1024), batch_size=32, shuffle=True, num_workers=1))
    share = SlowShare(folder)

    for epoch in range(EPOCHS):
        loader.sampler.set_epoch(epoch)
        for number, (titles, contents) in enumerate(loader):
            waiting = number % 2 == 0
            with fabric.no_backward_sync(model, enabled=waiting):
                scores = model(titles, contents)
                loss = nn.functional.cross_entropy(scores, torch.arange(len(scores)))
                fabric.backward(loss / 2)
            if not waiting:
                optimizer.step()
                optimizer.zero_grad()
        mean = fabric.all_reduce(loss.detach(), reduce_op="mean")
        fabric.print(f"epoch {epoch}: loss {mean:.3f}")
        if fabric.is_global_zero:
            weights = {name: value.clone() for name, value in model.state_dict().items()}
            share.write(f"epoch-{epoch}.zip", packed(weights) * 2)
        fabric.barrier()


if __name__ == "__main__":
    main()
