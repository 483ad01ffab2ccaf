"""Clauses of contracts with Lightning Fabric: three processes, raw texts are encoded as they are needed."""
import random

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset

from batches import CLAUSES, Learner

WORDS = "party shall indemnify loss pay invoice within days notify writing terminate court state govern breach fee".split()


class Contracts(Dataset):
    def __init__(self, count=2880, imported=1514):
        rng = random.Random(12)
        self.rows = [
            {"id": f"C{i:05d}", "text": " ".join(rng.choices(WORDS, k=30)), "clause": CLAUSES[i % len(CLAUSES)]}
            for i in range(count)
        ]
        self.rows[imported]["clause"] = "misc."  # from the archive of the firm that was taken over

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def main():
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(8, verbose=False)
    model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, len(CLAUSES)))
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=2e-3))
    loader = DataLoader(Contracts(), batch_size=12, shuffle=False, collate_fn=list)
    loader = fabric.setup_dataloaders(loader, move_to_device=False)
    learner = Learner(fabric, model, optimizer)

    for epoch in range(3):
        losses = [loss for contracts in loader if (loss := learner.learn(contracts)) is not None]
        mean = fabric.all_gather(torch.tensor(sum(losses) / len(losses))).mean()
        fabric.print(f"epoch {epoch}: loss {mean:.4f}")
    fabric.barrier()


if __name__ == "__main__":
    main()
