import random

import torch
from torch.utils.data import Dataset

AMINO, STATES = 20, 3


class Proteins(Dataset):
    """The state of a residue depends on the residues around it."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.seqs = [[rng.randrange(AMINO) for _ in range(rng.randrange(20, 80))] for _ in range(n)]
        self.lengths = [len(s) for s in self.seqs]

    def __len__(self):
        return len(self.seqs)

    def __getitem__(self, i):
        s = self.seqs[i]
        pad = [0, 0, *s, 0, 0]
        y = [sum(pad[k:k + 5]) * STATES // (5 * AMINO) for k in range(len(s))]
        return i, torch.tensor(s) + 1, torch.tensor(y)


def collate(rows):
    seq = torch.nn.utils.rnn.pad_sequence
    return {
        "id": torch.tensor([r[0] for r in rows]),
        "x": seq([r[1] for r in rows], batch_first=True),
        "y": seq([r[2] for r in rows], batch_first=True, padding_value=-100),
    }
