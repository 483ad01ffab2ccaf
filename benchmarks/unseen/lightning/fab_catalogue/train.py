import time

import lightning as L
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from model import ListingEncoder

SHOPS = ("garden", "books", "bikes")


class Catalogue(Dataset):
    """The newest listings of three shops, one of each in turn."""

    def __init__(self, per_shop=320):
        self.per_shop = per_shop
        # second-hand books are imported from a price list without photos
        self.imported = {("books", n) for n in range(170, 190)}

    def __len__(self):
        return self.per_shop * len(SHOPS)

    def __getitem__(self, i):
        shop, n = SHOPS[i % len(SHOPS)], i // len(SHOPS)
        g = torch.Generator().manual_seed(i)
        title = torch.randint(0, 300, (6,), generator=g)
        photos = torch.rand(3, 16, 16, generator=g)
        if (shop, n) in self.imported:
            photos = torch.zeros(3, 16, 16)
        price = torch.rand(1, generator=g)
        return {"title": title, "price": price, "photos": photos, "category": title[0] % 8}


def fit(fabric, model, optimizer, loader, epochs):
    step = 0
    for epoch in range(epochs):
        for batch in loader:
            loss = F.cross_entropy(model(batch), batch["category"])
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
            smoothed = fabric.all_reduce(loss.detach(), reduce_op="mean")
            step += 1
            if step % 10 == 0:
                fabric.print(f"[{epoch}] {step:4d} {smoothed.item():.4f}")
            time.sleep(0.02)


def main():
    fabric = L.Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(12)
    loader = fabric.setup_dataloaders(DataLoader(Catalogue(), batch_size=8))
    model = ListingEncoder()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    fit(fabric, model, optimizer, loader, epochs=2)
    fabric.print("done")


if __name__ == "__main__":
    main()
