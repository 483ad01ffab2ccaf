"""Shanties as sequences of notes, and batches of them for one ship's company per process."""

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

NOTES = 20


class Shanties(Dataset):
    """What a company sings on its watches; verses are short, and a capstan shanty goes on until the anchor is up."""

    def __init__(self, company, count, seed):
        g = torch.Generator().manual_seed(seed + company)
        self.songs = []
        for number in range(count):
            length = int(torch.randint(10, 16, (1,), generator=g))
            if company == 1 and 486 <= number < 492:  # the anchor was foul
                length = 30
            start = torch.randint(NOTES, (1,), generator=g)
            steps = torch.randint(-2, 3, (length,), generator=g)
            self.songs.append((start + steps.cumsum(0)) % NOTES)

    def __len__(self):
        return len(self.songs)

    def __getitem__(self, i):
        return self.songs[i]


def collate(songs):
    return sorted(songs, key=len)


def by_notes(songs, limit):
    """Groups of songs with at most `limit` notes after padding; songs come in the order of their length."""
    group = []
    for song in songs:
        if group and len(song) * (len(group) + 1) > limit:
            yield pad_sequence(group, batch_first=True, padding_value=-1)
            group = []
        group.append(song)
    yield pad_sequence(group, batch_first=True, padding_value=-1)
