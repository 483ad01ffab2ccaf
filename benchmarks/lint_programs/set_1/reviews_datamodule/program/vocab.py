from __future__ import annotations

import collections
import json
import pathlib
import re

_TOKEN = re.compile(r"[a-z0-9']+|[!?.]")


def words(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


class Vocab:
    PAD, UNK = 0, 1

    def __init__(self, itos: list[str]):
        self.itos = itos
        self.stoi = {w: i for i, w in enumerate(itos)}

    @classmethod
    def build(cls, texts, max_size: int) -> "Vocab":
        counts = collections.Counter()
        for t in texts:
            counts.update(words(t))
        ranked = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))
        return cls(["<pad>", "<unk>"] + [w for w, _ in ranked[: max_size - 2]])

    def encode(self, text: str, limit: int) -> list[int]:
        return [self.stoi.get(w, self.UNK) for w in words(text)[:limit]] or [self.UNK]

    def save(self, path: pathlib.Path) -> None:
        path.write_text(json.dumps(self.itos))

    @classmethod
    def load(cls, path: pathlib.Path) -> "Vocab":
        return cls(json.loads(path.read_text()))

    def __len__(self):
        return len(self.itos)
