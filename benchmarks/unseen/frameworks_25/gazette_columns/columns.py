"""Columns of a gazette and the vocabulary of a year."""

import json
import random
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset

SECTIONS = ["auctions", "births", "notices", "shipping"]


def column(section, number, length=18):
    rng = random.Random(f"{section}-{number}")
    return [f"{SECTIONS[section][:3]}{rng.randint(0, 30)}" if rng.random() < 0.5 else f"w{rng.randint(0, 80)}" for _ in range(length)]


def build_vocabulary(path, columns, pause):
    """Counts words volume by volume; the microfilm reader needs a while for each volume."""
    words = set()
    for section in range(len(SECTIONS)):
        for number in range(columns // len(SECTIONS)):
            words.update(column(section, number))
        time.sleep(pause)
    path.write_text(json.dumps(sorted(words)))


class Vocabulary:
    def __init__(self, path: Path):
        self.index = {word: i + 1 for i, word in enumerate(json.loads(path.read_text()))}

    def __len__(self):
        return len(self.index) + 1

    def encode(self, words):
        return torch.tensor([self.index.get(word, 0) for word in words])


class Columns(Dataset):
    """Columns of the process' own volumes; `damp` columns have to be photographed again, each attempt takes longer."""

    def __init__(self, count, offset, vocabulary, damp=None):
        self.count = count
        self.offset = offset
        self.vocabulary = vocabulary
        self.damp = damp or {}

    def __len__(self):
        return self.count

    def photograph(self, i, attempt):
        if attempt < self.damp.get(i, 0):
            raise OSError(f"column {i} is too dark")
        section = (i + self.offset) % len(SECTIONS)
        return column(section, self.offset + i // len(SECTIONS)), section

    def __getitem__(self, i):
        for attempt in range(5):
            try:
                words, section = self.photograph(i, attempt)
                return self.vocabulary.encode(words), torch.tensor(section)
            except OSError:
                time.sleep(0.4 * 2**attempt)
        raise OSError(f"column {i} cannot be read")
