"""Pretraining of a small language model on folk tunes, volume by volume."""
import argparse
import itertools
import math
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from tunes import LETTERS, PackedTunes


@dataclass
class Shape:
    width: int = 32
    heads: int = 2
    layers: int = 2
    block: int = 32


class TuneModel(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), shape.width)
        self.places = nn.Parameter(torch.zeros(shape.block, shape.width))
        layer = nn.TransformerEncoderLayer(
            shape.width, shape.heads, 2 * shape.width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, shape.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(shape.width)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(shape.block))

    def forward(self, text):
        hidden = self.body(self.letters(text) + self.places, mask=self.mask, is_causal=True)
        return self.norm(hidden) @ self.letters.weight.T


class Schedule:
    def __init__(self, optimizer, peak, warmup):
        self.optimizer, self.peak, self.warmup = optimizer, peak, warmup
        self.steps = 0

    def step(self):
        self.steps += 1
        factor = min(self.steps / self.warmup, math.sqrt(self.warmup / self.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = self.peak * factor


def train_volume(model, optimizer, schedule, batches):
    total, count = 0.0, 0
    for text in batches:
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        schedule.step()
        optimizer.step()
        total += loss.item()
        count += 1
        time.sleep(0.02)
    return total / max(count, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--volumes", type=int, default=6)
    parser.add_argument("--tunes", type=int, default=400)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--most", type=int, default=34, help="batches of a volume")
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    shape = Shape()
    model = DistributedDataParallel(TuneModel(shape))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    schedule = Schedule(optimizer, args.lr, warmup=30)
    tunes = PackedTunes(args.tunes, shape.block, rank, world)
    loader = DataLoader(tunes, batch_size=args.batch, drop_last=True)
    for volume in range(args.volumes):
        tunes.open(volume)
        loss = train_volume(model, optimizer, schedule, itertools.islice(loader, args.most))
        everyones = [None] * world
        dist.all_gather_object(everyones, loss)
        if rank == 0:
            print(f"volume {volume}: {sum(everyones) / world:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
