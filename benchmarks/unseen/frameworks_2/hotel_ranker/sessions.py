import time

import torch
from torch.utils.data import Dataset


class SessionLog(Dataset):
    """Sessions with up to five hotels shown; the app showed a single one during its trial in partition 1."""

    def __init__(self, partition, sessions=600, shown=5, width=10):
        gen = torch.Generator().manual_seed(1000 + partition)
        self.hotels = torch.randn(sessions, shown, width, generator=gen)
        self.shown = torch.full((sessions,), shown)
        if partition == 1:
            self.shown[150:290] = 1
        self.clicked = (self.hotels[..., 0] > 0.8).float()
        self.nights = self.hotels[..., 1].abs().mean(dim=1) * 3

    def __len__(self):
        return len(self.nights)

    def __getitem__(self, i):
        return self.hotels[i], self.shown[i], self.clicked[i], self.nights[i]


def collate_sessions(rows):
    time.sleep(0.02)
    hotels, shown, clicked, nights = map(torch.stack, zip(*rows))
    return {"hotels": hotels, "shown": shown, "clicked": clicked, "nights": nights}
