import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Documents(Dataset):
    def __init__(self, documents, length, vocab, seed):
        gen = torch.Generator().manual_seed(seed)
        start = torch.randint(vocab, (documents, 1), generator=gen)
        step = torch.randint(1, 7, (documents, 1), generator=gen)
        self.ids = (start + step * torch.arange(length)) % vocab

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i]


def endless(cfg):
    """Yields batches without end, shuffled anew in each pass over the documents."""
    data = Documents(**cfg["data"], seed=cfg["seed"])
    sampler = DistributedSampler(data, shuffle=True, seed=cfg["seed"], drop_last=True)
    loader = DataLoader(data, batch_size=cfg["batch_size"], sampler=sampler, drop_last=True)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1
