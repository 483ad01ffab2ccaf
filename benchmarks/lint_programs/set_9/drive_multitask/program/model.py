import torch
import torch.nn as nn
import torch.nn.functional as F

from data import FEATURES


class MultiTaskNet(nn.Module):
    def __init__(self, tasks, dim=64):
        super().__init__()
        self.tasks = tasks
        self.trunk = nn.Sequential(nn.Linear(FEATURES, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.heads = nn.ModuleDict({
            t.name: nn.Sequential(nn.Linear(dim, dim // 2), nn.ReLU(), nn.Linear(dim // 2, 1))
            for t in tasks
        })

    def forward(self, x, targets):
        feat = self.trunk(x)
        losses = {}
        for task in self.tasks:
            pred = self.heads[task.name](feat).squeeze(-1)
            target = targets[task.name]
            mask = ~torch.isnan(target)
            err = F.smooth_l1_loss(pred, torch.nan_to_num(target), reduction="none")
            losses[task.name] = (err * mask).mean()
        total = sum(task.weight * losses[task.name] for task in self.tasks)
        return total, losses
