"""Reading of the intent corpus: one json object per line, {"text": ..., "intent": ...}."""
import json
import re
from collections import Counter

import torch
from torch.nn.utils.rnn import pad_sequence

PAD, UNK = 0, 1
_word = re.compile(r"[a-z0-9']+")


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def words(text):
    return _word.findall(text.lower())


class Vocabulary:
    def __init__(self, rows, min_count=2):
        counts = Counter(w for row in rows for w in words(row["text"]))
        self.itos = ["<pad>", "<unk>"] + [w for w, c in counts.most_common() if c >= min_count]
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, text, limit=64):
        ids = [self.stoi.get(w, UNK) for w in words(text)][:limit]
        return torch.tensor(ids or [UNK])


class LabelMap:
    def __init__(self, rows):
        names = {row["intent"] for row in rows}
        self.names = list(names)
        self.ids = {name: i for i, name in enumerate(self.names)}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, name):
        return self.ids[name]


class IntentDataset(torch.utils.data.Dataset):
    def __init__(self, rows, vocab, labels):
        self.rows, self.vocab, self.labels = rows, vocab, labels

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return self.vocab.encode(row["text"]), self.labels[row["intent"]]

    @staticmethod
    def collate(items):
        texts, targets = zip(*items)
        return pad_sequence(texts, batch_first=True, padding_value=PAD), torch.tensor(targets)
