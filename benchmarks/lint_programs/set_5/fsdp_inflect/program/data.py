"""Inflection pairs, tab separated: lemma, features, form  (e.g. `walk  V;PST  walked`)."""
import torch
from torch.utils.data import Dataset

PAD, SEP, EOS = 0, 1, 2
CHARS = "abcdefghijklmnopqrstuvwxyz;ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'-"
VOCAB = 3 + len(CHARS)
TO_ID = {c: i + 3 for i, c in enumerate(CHARS)}
WIDTH = 24


def encode(text):
    return [TO_ID[c] for c in text if c in TO_ID][:WIDTH]


class Inflections(Dataset):
    def __init__(self, path, rank=0, world=1):
        with open(path) as f:
            rows = [line.rstrip("\n").split("\t") for line in f if line.count("\t") == 2]
        self.rows = rows[rank::world]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        lemma, feats, form = self.rows[i]
        return encode(lemma + ";" + feats), encode(form)[:WIDTH - 1] + [EOS]


def collate(batch):
    """Prompts are padded on the left, so that all forms begin at the same position."""
    prompt = torch.full((len(batch), WIDTH + 1), PAD)
    form = torch.full((len(batch), WIDTH), PAD)
    for i, (p, f) in enumerate(batch):
        prompt[i, WIDTH - len(p):WIDTH] = torch.tensor(p)
        form[i, :len(f)] = torch.tensor(f)
    prompt[:, WIDTH] = SEP
    return prompt, form
