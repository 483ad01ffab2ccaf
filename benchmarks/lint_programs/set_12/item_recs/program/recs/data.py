import torch
from torch.utils.data import DataLoader, Sampler, TensorDataset


def events(cfg, n, seed):
    """(user, item) clicks; a user's taste is a neighbourhood of the catalogue."""
    g = torch.Generator().manual_seed(seed)
    user = torch.randint(0, cfg.users, (n,), generator=g)
    centre = (user * 7) % cfg.items
    offset = torch.randn(n, generator=g).mul(3).round().long()
    return TensorDataset(user, (centre + offset) % cfg.items)


class ShardedShuffle(Sampler):
    """One permutation for the whole job, of which every rank takes its stride."""

    def __init__(self, size, rank, world_size, generator):
        self.size, self.rank, self.world_size = size, rank, world_size
        self.generator = generator

    def __len__(self):
        return self.size // self.world_size

    def __iter__(self):
        order = torch.randperm(self.size, generator=self.generator)
        yield from order[:len(self) * self.world_size][self.rank::self.world_size].tolist()


class Stride(Sampler):
    def __init__(self, size, rank, world_size):
        self.indices = range(rank, size, world_size)

    def __len__(self):
        return len(self.indices)

    def __iter__(self):
        return iter(self.indices)


def build_loaders(cfg, rank, world_size, generator):
    train, test = events(cfg, cfg.events, 1), events(cfg, cfg.events // 10, 2)
    return (
        DataLoader(train, cfg.batch_size, drop_last=True,
                   sampler=ShardedShuffle(len(train), rank, world_size, generator)),
        DataLoader(test, cfg.batch_size, sampler=Stride(len(test), rank, world_size)),
    )
