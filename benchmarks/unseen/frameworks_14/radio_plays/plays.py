import random

import torch
from torch.utils.data import Dataset

TITLES = ["The Lighthouse at Noon", "Room for Two", "A Letter from Ghent", "The Last Tram"]
SPEAKERS = 6
VOCABULARY = 300
LENGTH = 20


class Lines(Dataset):
    """The spoken lines of some plays: tokens, and who says them. A play has its own way of speaking."""

    def __init__(self, plays, lines_per_play):
        self.items = []
        for play in plays:
            rng = random.Random(play)
            manner = [rng.sample(range(1, VOCABULARY), 40) for _ in range(SPEAKERS)]
            for _ in range(lines_per_play):
                speaker = rng.randrange(SPEAKERS)
                tokens = [rng.choice(manner[speaker]) for _ in range(rng.randint(6, LENGTH))]
                self.items.append((tokens + [0] * (LENGTH - len(tokens)), speaker))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        tokens, speaker = self.items[i]
        return {"tokens": torch.tensor(tokens), "labels": torch.tensor(speaker)}


def reading_list(count):
    """The plays of a season; further ones are repeats under a new number."""
    return [TITLES[i % len(TITLES)] + (f" ({i // len(TITLES) + 1})" if i >= len(TITLES) else "") for i in range(count)]


def portion(plays, rank, world):
    """The plays that one process reads: consecutive ones, so that a cycle stays together."""
    size = -(-len(plays) // world)
    return plays[rank * size : (rank + 1) * size]
