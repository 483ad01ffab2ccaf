import csv

import numpy as np
import torch
from torch.utils.data import Dataset

LABELS = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")


class CommentDataset(Dataset):
    def __init__(self, path, tokenizer, max_length=192):
        self.tokenizer, self.max_length = tokenizer, max_length
        self.texts, labels = [], []
        with open(path, newline="", encoding="utf-8") as fh:
            for row in csv.DictReader(fh):
                self.texts.append(row["comment_text"])
                labels.append([int(row[k]) for k in LABELS])
        self._labels = np.asarray(labels, dtype=np.float32)

    def label_matrix(self):
        return self._labels

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        item = self.tokenizer(self.texts[i], truncation=True, max_length=self.max_length)
        item["labels"] = self._labels[i]
        return item


class Collator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, items):
        labels = torch.from_numpy(np.stack([it["labels"] for it in items]))
        feats = [{k: v for k, v in it.items() if k != "labels"} for it in items]
        batch = self.tokenizer.pad(feats, padding=True, pad_to_multiple_of=8, return_tensors="pt")
        batch["labels"] = labels
        return batch
