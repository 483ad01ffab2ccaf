"""Menu cards of a collection, with their spelling normalised by a program beside the loader's worker."""

import subprocess
import sys
from pathlib import Path

import torch
from torch.utils.data import Dataset

DISHES = ["oyster", "turtoe", "pheasant", "ragout", "jelly"]
DISHES += ["black puddyeng", "duckling", "souffle", "bisque", "coeurs"]
LETTERS = 64
YEARS = 8


class Speller:
    """Client of speller.py: one line to it, one line from it."""

    def __init__(self):
        script = Path(__file__).with_name("speller.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


class MenuCards(Dataset):
    """Text of a card as letters, and the decade in which it was printed."""

    def __init__(self, count, seed, covers=()):
        self.count = count
        self.seed = seed
        self.covers = set(covers)  # photographed from the outside
        self.speller = None

    def __len__(self):
        return self.count

    def text(self, i, g):
        if i in self.covers:
            return " "
        picks = torch.randint(0, len(DISHES), (6,), generator=g)
        return ", ".join(DISHES[p] for p in picks.tolist())

    def __getitem__(self, i):
        if self.speller is None:
            self.speller = Speller()
        g = torch.Generator().manual_seed(self.seed * 50_000 + i)
        decade = int(torch.randint(0, YEARS, (), generator=g))
        text = self.speller.ask(self.text(i, g))
        codes = [ord(letter) % 128 for letter in text[:LETTERS]]
        codes += [0] * (LETTERS - len(codes))
        codes[-1] = 100 + decade  # the printer's mark
        return {"letters": torch.tensor(codes), "labels": torch.tensor(decade)}
