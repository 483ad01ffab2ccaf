import hashlib
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

CHUNK = 1 << 24


def cache_name(text_file, lowercase):
    key = f"{Path(text_file).resolve()}|{Path(text_file).stat().st_size}|{lowercase}"
    return hashlib.sha1(key.encode()).hexdigest()[:16] + ".u16"


def encode(text_file, target, lowercase):
    """Bytes as uint16 with 256 as document separator (blank lines)."""
    with open(text_file, encoding="utf-8", errors="replace") as src, open(target, "wb") as dst:
        while True:
            text = src.read(CHUNK)
            if not text:
                break
            if lowercase:
                text = text.lower()
            docs = text.split("\n\n")
            for i, doc in enumerate(docs):
                ids = np.frombuffer(doc.encode("utf-8"), dtype=np.uint8).astype(np.uint16)
                if i + 1 < len(docs):
                    ids = np.append(ids, np.uint16(256))
                dst.write(ids.tobytes())


def load_tokens(fabric, text_file, cache_dir, lowercase=False):
    target = Path(cache_dir) / cache_name(text_file, lowercase)
    missing = not target.exists()
    if missing:
        if fabric.global_rank == 0:
            target.parent.mkdir(parents=True, exist_ok=True)
            fabric.print(f"packing {text_file} -> {target}")
            encode(text_file, target, lowercase)
        fabric.barrier()
    return np.memmap(target, dtype=np.uint16, mode="r")


class Blocks(Dataset):
    def __init__(self, tokens, block):
        self.tokens, self.block = tokens, block

    def __len__(self):
        return (len(self.tokens) - 1) // self.block

    def __getitem__(self, i):
        s = i * self.block
        chunk = torch.from_numpy(self.tokens[s : s + self.block + 1].astype(np.int64))
        return chunk[:-1], chunk[1:]
