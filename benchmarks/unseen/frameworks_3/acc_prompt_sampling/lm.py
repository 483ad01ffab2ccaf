import string

import torch
import torch.nn as nn

CHARS = string.ascii_lowercase + " .,?"
VOCAB = len(CHARS)


def encode(text):
    return torch.tensor([CHARS.index(c) for c in text.lower() if c in CHARS])


def decode(ids):
    return "".join(CHARS[i] for i in ids.tolist())


class CharLM(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])
