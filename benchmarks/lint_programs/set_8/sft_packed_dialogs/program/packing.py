"""Turn dialogs into fixed-length token blocks and keep them on disk."""
import hashlib
import json
import os
import random

import numpy as np
import torch
from torch.utils.data import Dataset

WORDS = "please book a table for two at seven near the old bridge thanks sure done which day".split()
USER, BOT, EOS, PAD = 0, 1, 2, 3
VOCAB = {w: i + 4 for i, w in enumerate(dict.fromkeys(WORDS))}
VOCAB_SIZE = len(VOCAB) + 4


def read_dialogs(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        k = rng.randrange(len(WORDS))
        turns = []
        for t in range(rng.randint(1, 3)):
            say = [WORDS[(k + t + j) % len(WORDS)] for j in range(rng.randint(4, 9))]
            turns.append((USER if t % 2 == 0 else BOT, say))
        turns.append((BOT, ["sure", "done", "thanks"]))
        yield turns


def encode(turns):
    ids, mask = [], []
    for who, words in turns:
        piece = [who] + [VOCAB[w] for w in words]
        ids += piece
        mask += [int(who == BOT)] * len(piece)
    return ids + [EOS], mask + [1]


def pack(dialogs, seq_len):
    ids, mask = [], []
    for turns in dialogs:
        i, m = encode(turns)
        ids += i
        mask += m
    usable = len(ids) // seq_len * seq_len
    return np.stack([np.array(ids[:usable]).reshape(-1, seq_len),
                     np.array(mask[:usable]).reshape(-1, seq_len)])


def fingerprint(cfg):
    key = json.dumps([cfg.num_dialogs, cfg.seq_len, cfg.seed, sorted(VOCAB)])
    return hashlib.sha1(key.encode()).hexdigest()[:12]


class PackedBlocks(Dataset):
    def __init__(self, array):
        self.ids = torch.from_numpy(array[0]).long()
        self.mask = torch.from_numpy(array[1]).bool()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        labels = self.ids[i].masked_fill(~self.mask[i], -100)
        return {"input_ids": self.ids[i], "labels": labels}


def load_packed(cfg, accelerator):
    path = os.path.join(cfg.cache_dir, f"packed-{fingerprint(cfg)}.npy")
    if not os.path.exists(path):
        accelerator.print(f"packing {cfg.num_dialogs} dialogs into {path}")
        os.makedirs(cfg.cache_dir, exist_ok=True)
        blocks = pack(read_dialogs(cfg.num_dialogs, cfg.seed), cfg.seq_len)
        tmp = f"{path}.{os.getpid()}.tmp.npy"
        np.save(tmp, blocks)
        os.replace(tmp, path)
        accelerator.wait_for_everyone()
    return PackedBlocks(np.load(path))
