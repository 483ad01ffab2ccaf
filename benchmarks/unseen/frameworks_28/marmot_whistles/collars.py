"""Clips as the collars store them; the vendor's decoder is a program of its own."""
import os
import subprocess
import sys

import torch
from torch.utils.data import Dataset

DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoder.py")


class DecodeError(RuntimeError):
    pass


def decode(clip):
    """The clip as 16-bit samples. The decoder's remarks end up in the error, if there is one."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", DECODER, str(clip)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    samples = child.stdout.read()
    remarks = child.stderr.read()
    if child.wait() != 0:
        raise DecodeError(remarks.decode(errors="replace")[-2000:])
    return samples


class Whistles(Dataset):
    """Even clips are alarms, odd ones the all-clear."""

    def __init__(self, clips):
        self.clips = clips

    def __len__(self):
        return self.clips

    def __getitem__(self, index):
        wave = torch.frombuffer(bytearray(decode(index)), dtype=torch.int16).float() / 32768
        return wave, index % 2
