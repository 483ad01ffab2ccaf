import json
import pathlib
from collections import Counter

import lightning as L
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, UNK = 0, 1


def read_conll(path):
    sents, cur = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            if cur:
                sents.append(cur)
                cur = []
            continue
        tok, tag = line.split("\t")
        cur.append((tok, tag))
    if cur:
        sents.append(cur)
    return sents


class ConllData(L.LightningDataModule):
    def __init__(self, root, batch_size=32, min_count=2, workers=2):
        super().__init__()
        self.root = pathlib.Path(root)
        self.batch_size = batch_size
        self.min_count = min_count
        self.workers = workers
        self.word2id = None

    @property
    def tags(self):
        return json.loads((self.root / "tags.json").read_text())

    def prepare_data(self):
        # corpus is on shared storage, scan it once
        words = Counter(t for s in read_conll(self.root / "train.txt") for t, _ in s)
        kept = sorted(w for w, c in words.items() if c >= self.min_count)
        self.word2id = {w: i + 2 for i, w in enumerate(kept)}

    def _encode(self, sents):
        tag2id = {t: i for i, t in enumerate(self.tags)}
        return [
            (torch.tensor([self.word2id.get(t, UNK) for t, _ in s]), torch.tensor([tag2id[y] for _, y in s]))
            for s in sents
        ]

    def setup(self, stage):
        self.train = self._encode(read_conll(self.root / "train.txt"))
        self.dev = self._encode(read_conll(self.root / "dev.txt"))

    @staticmethod
    def _collate(batch):
        x = pad_sequence([b[0] for b in batch], batch_first=True, padding_value=PAD)
        y = pad_sequence([b[1] for b in batch], batch_first=True, padding_value=-100)
        return x, y

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True, drop_last=True,
                          collate_fn=self._collate, num_workers=self.workers)

    def val_dataloader(self):
        return DataLoader(self.dev, self.batch_size, collate_fn=self._collate, num_workers=self.workers)
