"""Synthetic reviews, vocabulary and encoded cache."""
import collections
import os
import random

import torch
from torch.utils.data import TensorDataset

GOOD = "great lovely fine superb warm bright moving".split()
BAD = "dull awful slow broken cold noisy cheap".split()
FILL = [f"word{i}" for i in range(300)]


def raw_reviews(n, seed):
    rnd = random.Random(seed)
    for _ in range(n):
        label = rnd.randint(0, 1)
        words = rnd.choices(FILL, k=14) + rnd.choices(GOOD if label else BAD, k=3)
        rnd.shuffle(words)
        yield " ".join(words), label


def encode_split(n, seed, vocab, length=20):
    rows, labels = [], []
    for text, label in raw_reviews(n, seed):
        ids = [vocab.get(w, 1) for w in text.split()][:length]
        rows.append(ids + [0] * (length - len(ids)))
        labels.append(label)
    return torch.tensor(rows), torch.tensor(labels)


def prepare(cache_dir, n_train, n_test):
    """Encoded train and test sets; built once per node and then read from the cache."""
    path = os.path.join(cache_dir, f"encoded_{n_train}_{n_test}.pt")
    if int(os.environ["LOCAL_RANK"]) == 0 and not os.path.exists(path):
        os.makedirs(cache_dir, exist_ok=True)
        counts = collections.Counter(w for text, _ in raw_reviews(n_train, 1) for w in text.split())
        vocab = {w: i + 2 for i, (w, _) in enumerate(counts.most_common())}
        blob = {"vocab": vocab, "train": encode_split(n_train, 1, vocab), "test": encode_split(n_test, 2, vocab)}
        torch.save(blob, path + ".tmp")
        os.replace(path + ".tmp", path)
    blob = torch.load(path)
    return len(blob["vocab"]) + 2, TensorDataset(*blob["train"]), TensorDataset(*blob["test"])
