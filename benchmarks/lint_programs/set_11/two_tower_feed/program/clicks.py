import torch
from torch.utils.data import Dataset


class ClickLog(Dataset):
    """The click log of one region; regions differ in traffic."""

    def __init__(self, region, users, items, base=640):
        gen = torch.Generator().manual_seed(77 + region)
        n = base + 96 * (region % 4)
        self.users = torch.randint(users, (n,), generator=gen)
        noise = torch.randint(5, (n,), generator=gen)
        self.items = (self.users * 7 + noise) % items

    def __len__(self):
        return len(self.users)

    def __getitem__(self, i):
        return self.users[i], self.items[i]
