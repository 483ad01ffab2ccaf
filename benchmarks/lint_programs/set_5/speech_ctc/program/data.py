"""Manifest dataset for character CTC.

A manifest is a .jsonl with one utterance per line:
    {"feats": "feats/utt0001.npy", "frames": 412, "text": "hello there"}
The features are log-mel, float32, shape (frames, 80).
"""
import json
from pathlib import Path

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

VOCAB = ["<blank>", " ", "'"] + [chr(c) for c in range(ord("a"), ord("z") + 1)]
CHAR2ID = {c: i for i, c in enumerate(VOCAB)}


def encode(text):
    return [CHAR2ID[c] for c in text.lower() if c in CHAR2ID]


class ManifestDataset(Dataset):
    def __init__(self, manifest):
        self.root = Path(manifest).parent
        with open(manifest) as f:
            self.items = [json.loads(line) for line in f if line.strip()]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        item = self.items[i]
        feats = torch.from_numpy(np.load(self.root / item["feats"]))
        return feats, torch.tensor(encode(item["text"]), dtype=torch.long)


class Collator:
    """Pads a batch. The encoder subsamples time by 4, so an utterance whose transcript
    is longer than a quarter of its frames has no alignment, and anything over
    `max_frames` does not fit in memory."""

    def __init__(self, max_frames=1600, subsample=4):
        self.max_frames = max_frames
        self.subsample = subsample

    def usable(self, feats, target):
        n = feats.size(0)
        return n <= self.max_frames and n // self.subsample >= len(target) > 0

    def __call__(self, batch):
        batch = [(f, t) for f, t in batch if self.usable(f, t)]
        if not batch:
            return None
        feats, targets = zip(*batch)
        return {
            "feats": pad_sequence(feats, batch_first=True),
            "feat_lens": torch.tensor([f.size(0) for f in feats]),
            "targets": torch.cat(targets),
            "target_lens": torch.tensor([len(t) for t in targets]),
        }
