"""Tokenised corpus with a cache file; the first process builds it, the others read it."""
import json
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset

ALPHABET = {c: i for i, c in enumerate(" abcdefghijklmnopqrstuvwxyz.", start=1)}
TEXT = "the tide came in and the boats went out and nobody counted them. "


def lines(count):
    for number in range(count):
        start = number % len(TEXT)
        yield (TEXT[start:] + TEXT[:start])[:32]


def read_slowly(path, attempts=5):
    """The file server may not show a fresh file at once."""
    for attempt in range(attempts):
        try:
            return json.loads(path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.5 * (attempt + 1))
    raise FileNotFoundError(path)


def build(path, count):
    rows = []
    with open(path.with_suffix(".tmp"), "w") as log:
        for line in lines(count):
            rows.append([ALPHABET[c] for c in line])
            log.write(line + "\n")
            log.flush()
            time.sleep(0.025)
    path.write_text(json.dumps(rows))


class CachedCorpus(Dataset):
    def __init__(self, folder, count=640):
        path = Path(folder) / f"corpus-{count}.json"
        if not path.exists():
            build(path, count)
        self.rows = torch.tensor(read_slowly(path))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}
