import json

import torch
from torch.utils.data import Dataset

IGNORE = -100


class Instructions(Dataset):
    """Lines of {"prompt": [ids], "answer": [ids]}, tokenised beforehand by tools/tokenise.py."""

    def __init__(self, path, max_length):
        self.rows = []
        with open(path) as f:
            for line in f:
                row = json.loads(line)
                ids = (row["prompt"] + row["answer"])[:max_length]
                labels = ([IGNORE] * len(row["prompt"]) + row["answer"])[:max_length]
                if any(x != IGNORE for x in labels[1:]):
                    self.rows.append((ids, labels, len(row["prompt"])))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids, labels, start = self.rows[i]
        return {"input_ids": ids, "labels": labels, "answer_start": start}


class PadRight:
    def __init__(self, pad_id):
        self.pad_id = pad_id

    def __call__(self, rows):
        width = max(len(r["input_ids"]) for r in rows)
        batch = {
            "input_ids": torch.full((len(rows), width), self.pad_id),
            "attention_mask": torch.zeros((len(rows), width), dtype=torch.long),
            "labels": torch.full((len(rows), width), IGNORE),
        }
        for i, r in enumerate(rows):
            n = len(r["input_ids"])
            batch["input_ids"][i, :n] = torch.tensor(r["input_ids"])
            batch["attention_mask"][i, :n] = 1
            batch["labels"][i, :n] = torch.tensor(r["labels"])
        batch["answer_start"] = torch.tensor([r["answer_start"] for r in rows])
        return batch
