"""Contrastive image-caption training on WebDataset shards."""
import argparse
import os
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import shards
from pipeline import WORDS, caption_loader


class DualEncoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.image = nn.Sequential(nn.Flatten(), nn.Linear(192, 64), nn.GELU(), nn.Linear(64, dim))
        self.words = nn.EmbeddingBag(WORDS, dim, padding_idx=0)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, images, captions):
        a = F.normalize(self.image(images), dim=-1)
        b = F.normalize(self.words(captions), dim=-1)
        logits = self.scale.exp() * a @ b.T
        target = torch.arange(len(logits))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def prepare_data():
    folder = [None]
    if dist.get_rank() == 0:
        folder[0] = tempfile.mkdtemp(prefix="captions-")
        shards.write(folder[0])
    dist.broadcast_object_list(folder)
    return folder[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    folder = prepare_data()
    model = DistributedDataParallel(DualEncoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    for epoch in range(args.epochs):
        seen = 0
        for images, captions in caption_loader(folder, args.batch_size):
            loss = model(images, captions)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            seen += len(images)
            time.sleep(0.05)
        dist.barrier()
        if rank == 0:
            torch.save(model.module.state_dict(), os.path.join(folder, f"epoch{epoch}.pt"))
            print(f"epoch {epoch}: {seen} captions, loss {loss.item():.3f}", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
