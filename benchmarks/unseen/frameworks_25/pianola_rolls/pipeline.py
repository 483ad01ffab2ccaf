"""The data pipeline of a process, made of torchdata nodes."""

import torch
import torchdata.nodes as tn
from torch.utils.data import Sampler

from punches import PassageReader, Roll


class Places(Sampler):
    """All passages of the process' rolls in a new order for each epoch."""

    def __init__(self, rolls, seed):
        self.places = [(roll.number, passage) for roll in rolls.values() for passage in range(roll.passages)]
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.places)

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        for i in torch.randperm(len(self.places), generator=g).tolist():
            yield self.places[i]


def collate(samples):
    return {key: torch.stack([sample[key] for sample in samples]) for key in samples[0]}


def shelf_of(rank, rolls, passages):
    """The rolls of a process. Roll 7 was torn and has been mended near its end."""
    numbers = range(rank * rolls, (rank + 1) * rolls)
    return {n: Roll(n, passages, mended=(passages - 5,) if n == 7 else ()) for n in numbers}


def build_loader(rank, args):
    rolls = shelf_of(rank, args.rolls, args.passages)
    node = tn.SamplerWrapper(Places(rolls, seed=rank))
    node = tn.ParallelMapper(node, PassageReader(rolls), num_workers=args.threads, method="thread")
    node = tn.Batcher(node, args.batch, drop_last=True)
    node = tn.Mapper(node, collate)
    return tn.Loader(node)
