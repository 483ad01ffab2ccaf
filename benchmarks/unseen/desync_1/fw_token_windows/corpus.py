"""Dialogues of the help desk, cut into rows of equal length; only the agents' words are targets."""

import torch
from torch.utils.data import Dataset

VOCAB = 96
LENGTH = 24
IGNORE = -100


class Dialogues(Dataset):
    # rows of the corpus that are policy texts quoted by a customer
    QUOTED = range(5313, 5318)

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(40_000 + i)
        text = torch.randint(1, VOCAB, (LENGTH + 1,), generator=gen)
        text[1::3] = (text[0::3][: len(text[1::3])] * 5 + 1) % VOCAB
        tokens, targets = text[:-1], text[1:].clone()
        if i in self.QUOTED:
            targets[:] = IGNORE
        return {"tokens": tokens, "targets": targets}
