import torch
from torch.utils.data import Sampler


class ResumableSampler(Sampler):
    """Shuffles by seed and epoch, deals the utterances out to the ranks, and can
    start in the middle of an epoch."""

    def __init__(self, size, rank, world, seed):
        self.size, self.rank, self.world, self.seed = size, rank, world, seed
        self.per_rank = size // world
        self.epoch = 0
        self.start = 0

    def set_epoch(self, epoch):
        self.epoch = epoch
        self.start = 0

    def fast_forward(self, count):
        """Leaves out the first `count` of this sampler's utterances, for this epoch."""
        self.start = min(count, self.per_rank)

    def __iter__(self):
        gen = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.size, generator=gen)[: self.per_rank * self.world]
        yield from order[self.rank::self.world][self.start:].tolist()

    def __len__(self):
        return self.per_rank - self.start
