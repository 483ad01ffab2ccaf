import hashlib
import pathlib

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import Dataset


def _fingerprint(files, block):
    h = hashlib.sha1(str(block).encode())
    for f in files:
        h.update(f.name.encode())
        h.update(str(f.stat().st_size).encode())
    return h.hexdigest()[:12]


def _pack(files, block, target):
    """Concatenates all documents to one stream of bytes and cuts it to blocks."""
    stream = bytearray()
    for f in files:
        stream += f.read_bytes() + b"\x00"
    usable = (len(stream) - 1) // block * block + 1
    partial = target.with_suffix(".partial.npy")
    np.save(partial, np.frombuffer(bytes(stream[:usable]), dtype=np.uint8))
    partial.rename(target)


def packed_tokens(corpus_dir, split, block, scratch, local_rank):
    """Path of the packed split on this node's scratch disk, made there on first use."""
    files = sorted(pathlib.Path(corpus_dir, split).glob("*.txt"))
    if not files:
        raise FileNotFoundError(f"no text files for split {split} in {corpus_dir}")
    target = pathlib.Path(scratch, f"{split}-{_fingerprint(files, block)}.npy")
    if not target.exists():
        if local_rank == 0:
            target.parent.mkdir(parents=True, exist_ok=True)
            _pack(files, block, target)
        dist.barrier()
    return target


class PackedBlocks(Dataset):
    def __init__(self, path, block):
        self.tokens = np.load(path, mmap_mode="r")
        self.block = block

    def __len__(self):
        return (len(self.tokens) - 1) // self.block

    def __getitem__(self, i):
        start = i * self.block
        piece = torch.from_numpy(self.tokens[start : start + self.block + 1].astype(np.int64))
        return piece[:-1], piece[1:]
