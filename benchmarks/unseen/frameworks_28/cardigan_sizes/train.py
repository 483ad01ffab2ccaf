"""Predict the size that a customer keeps, from the article's photo and her earlier orders (Fabric).

    torchrun --nproc-per-node 3 train.py
"""
import os

import torch
from lightning.fabric import Fabric
from torch import nn

from orders import order_batches
from photos import PhotoShelf


class SizeModel(nn.Module):
    def __init__(self, history=6, sizes=5, width=32):
        super().__init__()
        self.photo = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, width), nn.ReLU())
        self.history = nn.Linear(history, width)
        self.out = nn.Linear(2 * width, sizes)

    def forward(self, photo, history):
        both = torch.cat([self.photo(photo), torch.relu(self.history(history))], 1)
        return self.out(both)


def train_epoch(fabric, model, optimizer, shelf, epoch):
    total = torch.zeros(2)
    for articles, history, size in order_batches(fabric.global_rank, fabric.world_size, epoch):
        photo = torch.stack(shelf.many(articles))
        loss = nn.functional.cross_entropy(model(photo, history), size)
        optimizer.zero_grad()
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=2.0)
        optimizer.step()
        total += torch.tensor([loss.item(), 1.0])
    return fabric.all_reduce(total, reduce_op="sum")


def main():
    world = int(os.environ["WORLD_SIZE"])
    fabric = Fabric(accelerator="cpu", devices=world, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3, verbose=False)
    model = SizeModel()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))

    shelf = PhotoShelf(parallel=5)
    for epoch in range(3):
        loss, steps = train_epoch(fabric, model, optimizer, shelf, epoch).tolist()
        fabric.print(f"epoch {epoch}: {loss / steps:.3f}, {shelf.missing} photos missing here")
    shelf.close()


if __name__ == "__main__":
    main()
