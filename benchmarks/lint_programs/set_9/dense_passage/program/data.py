import json
import os
import shutil
import zlib

import torch
from torch.utils.data import Dataset

from distributed import barrier, get_rank


def scratch_dir():
    """Fast disk of the node the process runs on ($SLURM_TMPDIR is private to each node)."""
    return os.path.join(os.environ.get("SLURM_TMPDIR", "/tmp"), "dense_passage")


def stage(path):
    """Copy a corpus from the project file system to scratch and return the copy's path."""
    target = os.path.join(scratch_dir(), os.path.basename(path))
    if get_rank() == 0 and not os.path.exists(target):
        os.makedirs(scratch_dir(), exist_ok=True)
        shutil.copyfile(path, target + ".part")
        os.replace(target + ".part", target)
    barrier()
    return target


class PairDataset(Dataset):
    """Question and positive passage pairs, one JSON object a line, read by offset."""

    def __init__(self, path):
        self.path = path
        self.offsets = []
        with open(path, "rb") as f:
            pos = f.tell()
            for line in iter(f.readline, b""):
                if line.strip():
                    self.offsets.append(pos)
                pos = f.tell()

    def __len__(self):
        return len(self.offsets)

    def __getitem__(self, i):
        with open(self.path, "rb") as f:
            f.seek(self.offsets[i])
            row = json.loads(f.readline())
        return row["question"], row["passage"]


class HashCollator:
    def __init__(self, vocab_size, max_len):
        self.vocab_size, self.max_len = vocab_size, max_len

    def encode(self, texts):
        out = torch.zeros(len(texts), self.max_len, dtype=torch.long)
        for row, text in enumerate(texts):
            ids = [1 + zlib.crc32(w.encode()) % (self.vocab_size - 1) for w in text.lower().split()]
            ids = ids[: self.max_len]
            out[row, : len(ids)] = torch.tensor(ids)
        return out

    def __call__(self, pairs):
        questions, passages = zip(*pairs)
        return self.encode(questions), self.encode(passages)
