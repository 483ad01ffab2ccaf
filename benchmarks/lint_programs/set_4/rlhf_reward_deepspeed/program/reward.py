import json

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import AutoModel


class RewardModel(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.body = AutoModel.from_pretrained(base)
        self.score = nn.Linear(self.body.config.hidden_size, 1, bias=False)

    def forward(self, input_ids, attention_mask):
        h = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        last = attention_mask.sum(1) - 1
        return self.score(h[torch.arange(len(h), device=h.device), last]).squeeze(-1)


class Preferences(Dataset):
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.rows = [json.loads(line) for line in f]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        return r["prompt"] + r["chosen"], r["prompt"] + r["rejected"]


class PairCollator:
    """Chosen texts first, then rejected ones, padded on the right."""

    def __init__(self, tokenizer, max_length):
        self.tokenizer, self.max_length = tokenizer, max_length

    def __call__(self, pairs):
        chosen, rejected = zip(*pairs)
        return self.tokenizer(list(chosen) + list(rejected), padding=True, truncation=True,
                              max_length=self.max_length, return_tensors="pt")
