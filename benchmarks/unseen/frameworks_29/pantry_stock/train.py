"""Item embeddings for the pantry app, Lightning Fabric."""
import os
import tempfile
import time

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn

from baskets import ITEMS, build_table, wait_for_table
from journal import Journal


class Together(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.items = nn.Embedding(ITEMS, width)
        self.out = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, pairs):
        return self.out(self.items(pairs[:, 0]) * self.items(pairs[:, 1])).squeeze(1)


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(2)
    folder = fabric.broadcast(tempfile.mkdtemp(prefix="pantry_") if fabric.is_global_zero else None)
    path = os.path.join(folder, "table.pt")
    if fabric.global_rank == 0:
        build_table(path)
    table = wait_for_table(path)                     # no barrier: whoever sees it goes on

    model = Together()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-2))
    journal = Journal(os.path.join(folder, f"journal{fabric.global_rank}.txt"))
    mine = table[fabric.global_rank::fabric.world_size]
    for epoch in range(5):
        for number, rows in enumerate(mine.split(12)):
            loss = F.binary_cross_entropy_with_logits(model(rows[:, :2]), rows[:, 2].float())
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
            if number == 10 and fabric.global_rank == epoch % fabric.world_size:
                time.sleep(2)                        # garbage collection of the feature cache, in turns
        mean = fabric.all_reduce(loss.detach(), reduce_op="mean")
        journal.write(f"epoch {epoch}: {mean.item():.4f}")
        fabric.print(f"epoch {epoch}: {mean.item():.4f}", flush=True)
    journal.write("finished, " + "closing the books " * 8 * (fabric.global_rank + 1))
    journal.close()
    fabric.barrier()


if __name__ == "__main__":
    main()
