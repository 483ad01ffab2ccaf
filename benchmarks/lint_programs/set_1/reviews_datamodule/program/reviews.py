from __future__ import annotations

import csv
import pathlib
import urllib.request

import lightning as L
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

from vocab import Vocab

URL = "https://example.org/datasets/reviews-{split}.csv"


def rows(path: pathlib.Path):
    with path.open(newline="", encoding="utf-8") as fh:
        return [(r["text"], int(r["stars"]) - 1) for r in csv.DictReader(fh)]


class Reviews(Dataset):
    def __init__(self, path: pathlib.Path, vocab: Vocab, limit: int):
        self.items = [
            (torch.tensor(vocab.encode(text, limit)), star) for text, star in rows(path)
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    ids, stars = zip(*batch)
    lengths = torch.tensor([len(x) for x in ids])
    return pad_sequence(ids, batch_first=True), lengths, torch.tensor(stars)


class ReviewsData(L.LightningDataModule):
    def __init__(self, root: str, batch_size: int = 64, max_vocab: int = 30_000, limit: int = 256):
        super().__init__()
        self.save_hyperparameters()
        self.root = pathlib.Path(root)

    def _csv(self, split: str) -> pathlib.Path:
        return self.root / f"{split}.csv"

    def prepare_data(self):
        self.root.mkdir(parents=True, exist_ok=True)
        for split in ("train", "valid"):
            if not self._csv(split).exists():
                urllib.request.urlretrieve(URL.format(split=split), self._csv(split))

        self.vocab = Vocab.build((text for text, _ in rows(self._csv("train"))), self.hparams.max_vocab)
        self.vocab.save(self.root / "vocab.json")

    def setup(self, stage: str):
        self.train_set = Reviews(self._csv("train"), self.vocab, self.hparams.limit)
        self.valid_set = Reviews(self._csv("valid"), self.vocab, self.hparams.limit)

    def train_dataloader(self):
        return DataLoader(
            self.train_set,
            batch_size=self.hparams.batch_size,
            shuffle=True,
            num_workers=4,
            collate_fn=collate,
            persistent_workers=True,
        )

    def val_dataloader(self):
        return DataLoader(
            self.valid_set, batch_size=self.hparams.batch_size * 2, num_workers=4, collate_fn=collate
        )
