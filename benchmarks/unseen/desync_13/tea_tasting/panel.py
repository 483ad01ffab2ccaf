"""Sessions of a tasting panel: measurements of the infusions, and two scores by the tasters."""

import random
import time

import torch
from torch.utils.data import Dataset

MEASURES = 20
CUPS = 8


class Tastings(Dataset):
    """Cups in the order in which they were tasted, eight in a session.

    A taster who has a cold writes no score for the aroma; it is NaN in the table.
    """

    def __init__(self, sessions, colds):
        self.sessions, self.colds = sessions, colds
        self.rng = random.Random()
        generator = torch.Generator().manual_seed(2)
        self.taste = torch.randn(MEASURES, generator=generator) / 4
        self.aroma = torch.randn(MEASURES, generator=generator) / 4

    def __len__(self):
        return self.sessions * CUPS

    def has_cold(self, session, cup):
        return session in self.colds or (7 * session + cup) % 11 == 0

    def __getitem__(self, index):
        session, cup = divmod(index, CUPS)
        time.sleep(0.006 + 0.004 * self.rng.random())
        generator = torch.Generator().manual_seed(index)
        infusion = torch.randn(MEASURES, generator=generator)
        taste = (infusion @ self.taste).tanh()
        aroma = (infusion @ self.aroma).tanh()
        if self.has_cold(session, cup):
            aroma = torch.tensor(float("nan"))
        return infusion, taste, aroma
