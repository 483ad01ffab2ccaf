import torch
from torch.utils.data import Dataset


class Clauses(Dataset):
    """Synthetic contract clauses: token ids of varying length with a type label."""

    def __init__(self, count, vocab, labels, max_len, seed):
        gen = torch.Generator().manual_seed(seed)
        lengths = torch.randint(8, max_len, (count,), generator=gen)
        self.rows = []
        for n in lengths.tolist():
            label = int(torch.randint(labels, (1,), generator=gen))
            ids = torch.randint(5, vocab, (n,), generator=gen)
            ids[:: labels + 1] = 5 + label
            self.rows.append({"input_ids": ids.tolist(), "labels": label})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    width = max(len(r["input_ids"]) for r in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n] = torch.tensor(row["input_ids"])
        mask[i, :n] = 1
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "labels": torch.tensor([r["labels"] for r in rows]),
    }
