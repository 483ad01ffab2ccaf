"""Slices of the hospital archive; since 2019 the long studies are stored compressed."""
import gzip
import subprocess

import torch
from torch.utils.data import Dataset

SIDE = 16


class Codec:
    plain = "raw"
    packed = "gz"


def archive(site, n):
    """(codec, bytes) for every slice of a site."""
    g = torch.Generator().manual_seed(site)
    for k in range(n):
        pixels = bytes(torch.randint(0, 255, (SIDE * SIDE,), generator=g, dtype=torch.uint8).tolist())
        if site == 0 and k >= 88:
            yield Codec.packed, gzip.compress(pixels)
        else:
            yield Codec.plain, pixels


class Unpacker:
    """One external process per slice: the archive's own tool reads stdin and writes stdout."""

    def __init__(self, command=("gzip", "-dc")):
        self.command = command

    def __call__(self, blob):
        tool = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        tool.stdin.write(blob)
        tool.stdin.flush()
        pixels = tool.stdout.read()
        tool.wait()
        return pixels


class Slices(Dataset):
    readers = {Codec.plain: bytes, Codec.packed: Unpacker()}

    def __init__(self, site, n):
        self.items = list(archive(site, n))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        codec, blob = self.items[k]
        pixels = torch.frombuffer(bytearray(self.readers[codec](blob)), dtype=torch.uint8)
        return pixels.view(1, SIDE, SIDE).float() / 255
