import json

import torch
from torch.utils.data import Dataset

TEMPLATE = "### Customer:\n{question}\n\n### Agent:\n"


class SupportChats(Dataset):
    """Tokenised on access; the loss is only on the agent's answer."""

    def __init__(self, path, tokenizer, max_length):
        with open(path, encoding="utf-8") as f:
            self.rows = [json.loads(line) for line in f if line.strip()]
        self.tokenizer, self.max_length = tokenizer, max_length

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        prompt = self.tokenizer(TEMPLATE.format(question=row["question"]))["input_ids"]
        answer = self.tokenizer(row["answer"] + self.tokenizer.eos_token, add_special_tokens=False)["input_ids"]
        ids = (prompt + answer)[: self.max_length]
        labels = ([-100] * len(prompt) + answer)[: self.max_length]
        return {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels)}


class Collator:
    def __init__(self, pad_id):
        self.pad_id = pad_id

    def __call__(self, items):
        def pad(key, value):
            return torch.nn.utils.rnn.pad_sequence([x[key] for x in items], batch_first=True, padding_value=value)

        lengths = torch.tensor([len(x["input_ids"]) for x in items])
        ids = pad("input_ids", self.pad_id)
        mask = (torch.arange(ids.shape[1])[None] < lengths[:, None]).long()
        return {"input_ids": ids, "attention_mask": mask, "labels": pad("labels", -100)}
