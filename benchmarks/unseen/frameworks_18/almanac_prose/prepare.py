"""From the text of a chapter to bags of syllables."""

import subprocess
import sys
import zlib
from pathlib import Path

import torch

BUCKETS = 256


class Hyphenator:
    """Runs the hyphenation program of the publisher on a chapter, in a process of its own."""

    program = Path(__file__).with_name("hyphens.py")

    def __call__(self, chapter):
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", str(self.program), str(chapter)],
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        if process.wait() != 0:
            raise RuntimeError(f"{self.program.name} failed on {chapter}")
        return process.stdout.read().splitlines()


def bag(line):
    counts = torch.zeros(BUCKETS)
    for word in line.split():
        counts[zlib.crc32(word.encode()) % BUCKETS] += 1
        for syllable in word.split("\u00b7"):
            counts[zlib.crc32(syllable.encode()) % BUCKETS] += 0.5
    return counts


def features(chapter, hyphenate):
    return torch.stack([bag(line) for line in hyphenate(chapter)])
