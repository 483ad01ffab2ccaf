"""A recurrent network that continues hymn tunes; one hymnal per process, data parallel."""
import argparse
import dataclasses
import math
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from batching import NoteBudgetSampler, pad
from hymnal import NOTES, Hymnal


@dataclasses.dataclass
class Config:
    epochs: int = 4
    hymns: int = 800
    notes: int = 200
    width: int = 32
    lr: float = 3e-3
    pause: float = 0.02


class Organist(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(NOTES, width, padding_idx=0)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, NOTES)

    def forward(self, notes):
        return self.out(self.rnn(self.embed(notes))[0])


def build_loader(config, rank):
    hymnal = Hymnal(rank, config.hymns)
    sampler = NoteBudgetSampler(hymnal.lengths, config.notes, seed=rank)
    return DataLoader(hymnal, batch_sampler=sampler, collate_fn=pad), sampler


def train_epoch(config, model, optimizer, loader):
    total, seen = 0.0, 0
    for notes in loader:
        logits = model(notes[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), notes[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, seen = total + loss.item() * len(notes), seen + len(notes)
        time.sleep(config.pause)
    return total / seen


def summarize(epoch, loss):
    """Perplexities of all parishes, for the log of rank 0."""
    losses = [None] * dist.get_world_size()
    dist.all_gather_object(losses, loss)
    if dist.get_rank() == 0:
        print(f"epoch {epoch}:", " ".join(f"{math.exp(value):.2f}" for value in losses), flush=True)


def main():
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(Config):
        parser.add_argument("--" + field.name, type=type(field.default), default=field.default)
    config = Config(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(2)
    model = DistributedDataParallel(Organist(config.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    loader, sampler = build_loader(config, dist.get_rank())
    for epoch in range(config.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(config, model, optimizer, loader)
        summarize(epoch, loss)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
