import torch
from torch import nn
from torch.nn import functional as F


class Captioner(nn.Module):
    def __init__(self, features, vocab, length, width=128):
        super().__init__()
        self.bridge = nn.Linear(features, width)
        self.embed = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, image, tokens):
        start = self.bridge(image).unsqueeze(1)
        inputs = torch.cat([start, self.embed(tokens[:, :-1])], dim=1)
        states, _ = self.rnn(inputs)
        logits = self.out(states)
        return F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), reduction="none").view_as(tokens)
