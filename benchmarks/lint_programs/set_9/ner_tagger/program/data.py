import json
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

PAD_LABEL = -100


class NerDataset(Dataset):
    """jsonl rows: {"tokens": [ids], "tags": [ids]}"""

    def __init__(self, path=None, vocab=1000, tags=9, size=500, seed=0):
        if path:
            rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
            self.rows = [(torch.tensor(r["tokens"]), torch.tensor(r["tags"])) for r in rows]
        else:
            g = torch.Generator().manual_seed(seed)
            self.rows = []
            for _ in range(size):
                n = int(torch.randint(4, 24, (1,), generator=g))
                tokens = torch.randint(1, vocab, (n,), generator=g)
                self.rows.append((tokens, tokens % tags))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    tokens, tags = zip(*rows)
    return (
        pad_sequence(tokens, batch_first=True, padding_value=0),
        pad_sequence(tags, batch_first=True, padding_value=PAD_LABEL),
    )
