import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Counting(Dataset):
    """Arithmetic sequences modulo the vocabulary: start and stride from the index."""

    def __init__(self, cfg, offset=0):
        self.cfg, self.offset = cfg, offset

    def __len__(self):
        return self.cfg.samples

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.offset + i)
        start, stride = torch.randint(0, 1000, (2,), generator=g).tolist()
        seq = (start + (1 + stride % 7) * torch.arange(self.cfg.seq + 1)) % self.cfg.vocab
        return seq[:-1], seq[1:]


def build_loader(cfg, dataset):
    sampler = DistributedSampler(dataset, shuffle=True, seed=cfg.seed, drop_last=True)
    return DataLoader(dataset, cfg.batch_size, sampler=sampler, drop_last=True), sampler
