import json
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset


def read_jsonl(path):
    with open(path, encoding="utf-8") as fh:
        return [json.loads(line) for line in fh if line.strip()]


def label_names(path):
    return sorted({row["intent"] for row in read_jsonl(path)})


class IntentDataset(Dataset):
    def __init__(self, path, labels):
        lookup = {name: i for i, name in enumerate(labels)}
        self.rows = [(r["text"], lookup[r["intent"]]) for r in read_jsonl(path) if r["intent"] in lookup]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, idx):
        return self.rows[idx]


class Collator:
    def __init__(self, tokenizer, max_length):
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __call__(self, rows):
        texts, labels = zip(*rows)
        enc = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.max_length,
            padding="longest",
            return_tensors="pt",
        )
        enc["labels"] = torch.tensor(labels, dtype=torch.long)
        return dict(enc)


def build_loaders(args, tokenizer, labels):
    collate = Collator(tokenizer, args.max_length)
    train = DataLoader(
        IntentDataset(Path(args.train_file), labels),
        batch_size=args.per_device_batch_size,
        shuffle=True,
        drop_last=True,
        collate_fn=collate,
        num_workers=2,
    )
    valid = DataLoader(
        IntentDataset(Path(args.valid_file), labels),
        batch_size=args.per_device_batch_size * 2,
        collate_fn=collate,
        num_workers=2,
    )
    return train, valid
