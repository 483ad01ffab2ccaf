import torch
from torch.utils.data import Dataset, DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

VOCABULARY = 200
LONGEST = 24
ROOMS = 8


class Guides(Dataset):
    """Texts of the audio guides: per stop one for visitors, one for children and one for experts, in this order."""

    WORDS = (22, 17, 22)

    def __init__(self, stops, seed=0):
        self.stops = stops
        self.seed = seed

    def __len__(self):
        return self.stops * len(self.WORDS)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 50_000 + i)
        room = int(torch.randint(ROOMS, (), generator=g))
        length = self.WORDS[i % len(self.WORDS)]
        text = torch.randint(1, VOCABULARY, (length,), generator=g)
        own = torch.rand(length, generator=g) < 0.4
        text[own] = 1 + room + ROOMS * (text[own] % 6)
        padded = torch.zeros(LONGEST, dtype=torch.long)
        padded[:length] = text
        return padded, length, room


def guide_loader(stops, batch):
    """The guides in the order of the tour, dealt out to the ranks one by one."""
    data = Guides(stops)
    sampler = DistributedSampler(data, shuffle=False)
    return StatefulDataLoader(data, batch_size=batch, sampler=sampler)
