import time

import torch
from torch import nn


class ClickModel(nn.Module):
    """Embeddings of campaign and slot, crossed with the dense features."""

    def __init__(self, campaigns: int, slots: int, dim: int = 12, pace: float = 0.0):
        super().__init__()
        self.campaigns = nn.Embedding(campaigns, dim)
        self.slots = nn.Embedding(slots, dim)
        self.dense = nn.Linear(3, dim)
        self.tower = nn.Sequential(nn.Linear(3 * dim + 1, 32), nn.ReLU(), nn.Linear(32, 1))
        self.pace = pace

    def forward(self, campaign, slot, dense, labels=None):
        time.sleep(self.pace)
        c, s, d = self.campaigns(campaign), self.slots(slot), self.dense(dense)
        cross = (c * s).sum(dim=-1, keepdim=True)
        logit = self.tower(torch.cat([c, s, d, cross], dim=-1)).squeeze(-1)
        if labels is None:
            return {"logits": logit}
        loss = nn.functional.binary_cross_entropy_with_logits(logit, labels)
        return {"loss": loss, "logits": logit}
