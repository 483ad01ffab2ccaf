"""Two-tower matching of search queries and products."""
import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from mining import NegativeBank


class ClickLog(Dataset):
    """One row per click: query id, product id, dwell time."""

    def __init__(self, rows=1152, queries=200, products=300):
        g = torch.Generator().manual_seed(5)
        self.query = torch.randint(0, queries, (rows,), generator=g)
        self.product = torch.randint(0, products, (rows,), generator=g)
        self.dwell = torch.rand(rows, generator=g) * 20 + 3
        # the autumn campaign sent people to pages that they left at once
        self.dwell[512:516] = 0.4

    def __len__(self):
        return len(self.query)

    def __getitem__(self, i):
        return self.query[i], self.product[i], self.dwell[i]


class TwoTower(nn.Module):
    def __init__(self, queries=200, products=300, dim=16):
        super().__init__()
        self.q = nn.Embedding(queries, dim)
        self.p = nn.Embedding(products, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, query, product):
        a = self.proj(self.q(query))
        b = self.proj(self.p(product))
        return a @ b.t() / a.size(-1) ** 0.5


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--epochs", type=int, default=1)
    args = ap.parse_args()

    set_seed(11)
    accelerator = Accelerator(cpu=True)
    model = TwoTower()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(ClickLog(), batch_size=8, shuffle=False)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    bank = NegativeBank(accelerator, capacity=64)

    for epoch in range(args.epochs):
        for step, (query, product, dwell) in enumerate(loader):
            scores = model(query, product)
            target = torch.arange(len(query))
            loss = nn.functional.cross_entropy(scores, target)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            bank.update(product, dwell)
            time.sleep(0.02)
            if step % 10 == 0:
                accelerator.print(f"epoch {epoch} step {step} loss {loss.item():.3f} bank {len(bank)}")
    accelerator.wait_for_everyone()
    accelerator.print("done")
    accelerator.end_training()


if __name__ == "__main__":
    main()
