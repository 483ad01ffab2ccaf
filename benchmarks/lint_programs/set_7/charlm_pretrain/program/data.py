import random

import torch
from torch.utils.data import Dataset


def load_text(path):
    if path:
        with open(path, encoding="utf-8") as f:
            return f.read()
    rng = random.Random(0)
    words = ["alpha", "beta", "gamma", "delta", "omega"]
    return " ".join(rng.choice(words) for _ in range(4000))


class CharDataset(Dataset):
    def __init__(self, text, block_size, vocab):
        self.ids = torch.tensor([vocab[c] for c in text], dtype=torch.long)
        self.block_size = block_size

    def __len__(self):
        return (len(self.ids) - 1) // self.block_size

    def __getitem__(self, i):
        s = i * self.block_size
        chunk = self.ids[s : s + self.block_size + 1]
        return chunk[:-1], chunk[1:]


def build_datasets(path, block_size):
    text = load_text(path)
    vocab = {c: i for i, c in enumerate(sorted(set(text)))}
    cut = int(0.9 * len(text))
    return CharDataset(text[:cut], block_size, vocab), CharDataset(text[cut:], block_size, vocab), vocab
