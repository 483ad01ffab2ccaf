import json
from collections import Counter
from pathlib import Path

import lightning as L
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


class Vocab:
    def __init__(self, words, tags):
        self.words = {w: i + 2 for i, w in enumerate(words)}
        self.tags = {t: i for i, t in enumerate(tags)}

    @classmethod
    def load(cls, path):
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(state["words"], state["tags"])


class TagDataset(Dataset):
    def __init__(self, path, vocab):
        self.items = []
        for row in read_jsonl(path):
            words = [vocab.words.get(w.lower(), 1) for w in row["words"]]
            tags = [vocab.tags.get(t, -100) for t in row["tags"]]
            self.items.append((torch.tensor(words), torch.tensor(tags)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, tags = zip(*batch)
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True, padding_value=-100)


class TaggingData(L.LightningDataModule):
    def __init__(self, root, batch_size=32, max_words=20000, num_workers=2):
        super().__init__()
        self.root = Path(root)
        self.vocab_file = self.root / "vocab.json"
        self.batch_size = batch_size
        self.max_words = max_words
        self.num_workers = num_workers

    def prepare_data(self):
        if not self.vocab_file.exists():
            words, tags = Counter(), Counter()
            for row in read_jsonl(self.root / "train.jsonl"):
                words.update(w.lower() for w in row["words"])
                tags.update(row["tags"])
            state = {"words": [w for w, _ in words.most_common(self.max_words)], "tags": sorted(tags)}
            self.vocab_file.write_text(json.dumps(state), encoding="utf-8")
        self.vocab = Vocab.load(self.vocab_file)

    def setup(self, stage):
        self.train_set = TagDataset(self.root / "train.jsonl", self.vocab)
        self.val_set = TagDataset(self.root / "dev.jsonl", self.vocab)

    def train_dataloader(self):
        return DataLoader(
            self.train_set, self.batch_size, shuffle=True, collate_fn=collate, num_workers=self.num_workers
        )

    def val_dataloader(self):
        return DataLoader(self.val_set, self.batch_size, collate_fn=collate, num_workers=self.num_workers)
