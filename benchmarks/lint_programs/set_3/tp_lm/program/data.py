import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Progressions(Dataset):
    def __init__(self, n, vocab, seq):
        self.n, self.vocab, self.seq = n, vocab, seq

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        start, stride = torch.randint(self.vocab, (1,), generator=g), torch.randint(1, 9, (1,), generator=g)
        ids = (start + stride * torch.arange(self.seq + 1)) % self.vocab
        return ids[:-1], ids[1:]


def build_loader(dataset, batch_size, seed, replicas=None, index=None):
    """Sharded loader; replicas/index default to the whole job."""
    sampler = DistributedSampler(dataset, num_replicas=replicas, rank=index, shuffle=True, seed=seed, drop_last=True)
    return DataLoader(dataset, batch_size, sampler=sampler, drop_last=True), sampler
