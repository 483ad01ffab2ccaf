import json
import random
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset

WORDS = "pump valve seal leak motor noise bearing heat belt slip fuse trip oil low filter clog".split()


def write_notes(path: Path, count: int) -> None:
    rng = random.Random(4)
    with path.open("w") as file:
        for _ in range(count):
            words = rng.choices(WORDS, k=rng.randint(4, 12))
            file.write(json.dumps({"text": " ".join(words), "urgent": int("leak" in words or "heat" in words)}) + "\n")


def encode_notes(source: Path, cache: Path) -> None:
    """Encodes the notes once; the file appears under its name only when it is complete."""
    if cache.exists():
        return
    index = {word: number + 1 for number, word in enumerate(WORDS)}
    rows, labels = [], []
    for number, line in enumerate(source.read_text().splitlines()):
        note = json.loads(line)
        ids = [index[word] for word in note["text"].split()]
        rows.append(ids + [0] * (12 - len(ids)))
        labels.append(note["urgent"])
        if number % 16 == 0:
            time.sleep(0.05)  # the spelling service takes sixteen notes at a time
    partial = cache.with_suffix(".part")
    torch.save({"rows": torch.tensor(rows), "labels": torch.tensor(labels)}, partial)
    partial.rename(cache)


class Notes(Dataset):
    def __init__(self, cache: Path):
        stored = torch.load(cache)
        self.rows, self.labels = stored["rows"], stored["labels"]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        time.sleep(0.0005)
        return self.rows[i], self.labels[i]
