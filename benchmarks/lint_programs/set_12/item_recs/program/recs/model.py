import torch
from torch import nn
from torch.nn import functional as F


class TwoTower(nn.Module):
    def __init__(self, cfg, generator):
        super().__init__()
        self.user = nn.Embedding(cfg.users, cfg.width)
        self.item = nn.Embedding(cfg.items, cfg.width)
        self.bias = nn.Parameter(torch.zeros(cfg.items))
        self.items, self.negatives = cfg.items, cfg.negatives
        self.generator = generator

    def draw_negatives(self, positive):
        shape = (len(positive), self.negatives)
        neg = torch.randint(self.items, shape, generator=self.generator)
        clash = neg == positive[:, None]
        while clash.any():
            neg[clash] = torch.randint(self.items, (int(clash.sum()),), generator=self.generator)
            clash = neg == positive[:, None]
        return neg

    def scores(self, user):
        return self.user(user) @ self.item.weight.t() + self.bias

    def forward(self, user, positive):
        candidates = torch.cat([positive[:, None], self.draw_negatives(positive)], 1)
        u = self.user(user)[:, None]
        logits = (u * self.item(candidates)).sum(-1) + self.bias[candidates]
        target = torch.zeros(len(user), dtype=torch.long)
        return F.cross_entropy(logits, target)
