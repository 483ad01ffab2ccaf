import torch
import torch.nn.functional as F
from torch import nn


class CenterLoss(nn.Module):
    """Penalty-reduced focal loss on the heat map and L1 on the sizes at the centres, both per object."""

    def __init__(self, alpha=2.0, beta=4.0, size_weight=0.1):
        super().__init__()
        self.alpha, self.beta, self.size_weight = alpha, beta, size_weight

    def forward(self, heat, size, target):
        objects = target["mask"].sum()
        if objects == 0:
            return {}
        logit = heat.float()
        p = torch.sigmoid(logit)
        centre = target["mask"]
        pos = -((1 - p) ** self.alpha * F.logsigmoid(logit))[centre].sum()
        neg = -((1 - target["heat"]) ** self.beta * p**self.alpha * F.logsigmoid(-logit))[~centre].sum()

        where = centre.unsqueeze(1).expand_as(size)
        l1 = F.l1_loss(size[where].float(), target["size"][where], reduction="sum")
        return {
            "heat": (pos + neg) / objects,
            "size": self.size_weight * l1 / objects,
        }
