import csv
import re
from collections import Counter
from pathlib import Path

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

TOKEN = re.compile(r"[a-z']+")
PAD, UNK = 0, 1


def tokenize(text):
    return TOKEN.findall(text.lower())


def read_reviews(path):
    with open(path, newline="") as f:
        return [(row["text"], int(row["stars"]) - 1) for row in csv.DictReader(f)]


class ReviewDataset(Dataset):
    def __init__(self, rows, vocab, max_tokens):
        self.rows, self.vocab, self.max_tokens = rows, vocab, max_tokens

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        ids = [self.vocab.get(t, UNK) for t in tokenize(text)[: self.max_tokens]]
        ids += [PAD] * (self.max_tokens - len(ids))
        return torch.tensor(ids), label


class ReviewData(L.LightningDataModule):
    """reviews_train.csv and reviews_val.csv with the columns text and stars (1 to 5)."""

    def __init__(self, root, vocab_size=20000, max_tokens=200, batch_size=64, workers=2):
        super().__init__()
        self.root = Path(root)
        self.vocab_size = vocab_size
        self.max_tokens = max_tokens
        self.batch_size = batch_size
        self.workers = workers

    def prepare_data(self):
        counts = Counter()
        for text, _ in read_reviews(self.root / "reviews_train.csv"):
            counts.update(tokenize(text))
        words = sorted(counts, key=lambda w: (-counts[w], w))[: self.vocab_size - 2]
        self.vocab = {w: i + 2 for i, w in enumerate(words)}

    def setup(self, stage):
        self.train = ReviewDataset(read_reviews(self.root / "reviews_train.csv"), self.vocab, self.max_tokens)
        self.val = ReviewDataset(read_reviews(self.root / "reviews_val.csv"), self.vocab, self.max_tokens)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True, num_workers=self.workers, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val, self.batch_size, num_workers=self.workers)
