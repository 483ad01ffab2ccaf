"""Delivery rounds of three depots: stops with a position and a number of parcels, and the time the round took."""
import torch
from torch.utils.data import Dataset

DEPOTS = ("harbour", "market", "airport")


class Routes(Dataset):
    def __init__(self, count, longest=24, seed=5):
        g = torch.Generator().manual_seed(seed)
        self.stops, self.minutes = [], []
        for number in range(count):
            depot = DEPOTS[number % len(DEPOTS)]
            length = self.length_of(number // len(DEPOTS), depot, longest)
            stops = torch.rand(length, 3, generator=g)
            legs = (stops[1:, :2] - stops[:-1, :2]).norm(dim=1).sum()
            self.stops.append(stops)
            self.minutes.append((legs + 0.4 * stops[:, 2].sum()) / longest)

    @staticmethod
    def length_of(day, depot, longest):
        """Rounds get longer in the course of a week; the market has a short extra round now and then."""
        if depot == "market" and day % 40 == 39:
            return 4
        return 5 + (day * 7) % (longest - 5)

    @property
    def lengths(self):
        return [len(stops) for stops in self.stops]

    def __len__(self):
        return len(self.stops)

    def __getitem__(self, index):
        return self.stops[index], self.minutes[index]


def collate(samples):
    stops = torch.nn.utils.rnn.pad_sequence([s for s, _ in samples], batch_first=True)
    mask = torch.zeros(stops.shape[:2])
    for row, (s, _) in enumerate(samples):
        mask[row, : len(s)] = 1.0
    return stops, mask, torch.stack([m for _, m in samples])
