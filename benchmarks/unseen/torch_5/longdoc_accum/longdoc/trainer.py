import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard


class Reader(nn.Module):
    def __init__(self, vocab=64, width=32, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.out(x)


class Trainer:
    def __init__(self, mesh, schedule, lr=1e-3):
        torch.manual_seed(0)
        self.model = Reader()
        for layer in self.model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optim = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.schedule = schedule
        self.updates = 0

    def micro_step(self, index, tokens):
        closing = self.schedule.closes(index)
        self.model.set_requires_gradient_sync(closing)
        logits = self.model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        if closing:
            self.optim.step()
            self.optim.zero_grad()
            self.updates += 1
        return float(loss.detach())

    def fit(self, documents):
        history = []
        for index, tokens in enumerate(documents):
            history.append(self.micro_step(index, tokens))
            time.sleep(0.02)
        return history
