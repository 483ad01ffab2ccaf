"""Posters of one museum, in batches of one format, so that nothing has to be padded."""
import torch
from torch.utils.data import Dataset, Sampler

SIDES = {"portrait": (6, 4), "square": (5, 5), "landscape": (4, 6)}

# portraits, squares and landscapes of the collections; each lent 240 posters
COLLECTIONS = {
    "Basel": {"portrait": 96, "square": 80, "landscape": 64},
    "Lyon": {"portrait": 93, "square": 77, "landscape": 70},
    "Gdansk": {"portrait": 88, "square": 104, "landscape": 48},
}


class Posters(Dataset):
    def __init__(self, museum, seed):
        g = torch.Generator().manual_seed(seed)
        self.formats = [name for name, count in COLLECTIONS[museum].items() for _ in range(count)]
        self.pictures = [torch.randn(1, *SIDES[name], generator=g) for name in self.formats]
        self.decades = torch.randint(0, 4, (len(self.formats),), generator=g)
        for picture, decade in zip(self.pictures, self.decades.tolist()):
            picture += 0.5 * decade

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return self.pictures[index], self.decades[index]


class FormatBatches(Sampler):
    """Batches of posters that have the same format, in a new order in every epoch."""

    def __init__(self, formats, batch_size, seed=0):
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0
        self.by_format = {}
        for index, name in enumerate(formats):
            self.by_format.setdefault(name, []).append(index)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return sum(map(len, self.by_format.values())) // self.batch_size

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        batches = []
        for indices in self.by_format.values():
            order = [indices[i] for i in torch.randperm(len(indices), generator=g).tolist()]
            full = len(order) - len(order) % self.batch_size
            batches += [order[start:start + self.batch_size] for start in range(0, full, self.batch_size)]
        for position in torch.randperm(len(batches), generator=g).tolist():
            yield batches[position]
