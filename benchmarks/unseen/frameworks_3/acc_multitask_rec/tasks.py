import torch
import torch.nn as nn
import torch.nn.functional as F

TASKS = {}


def task(name, weight):
    def register(fn):
        TASKS[name] = (fn, weight)
        return fn
    return register


@task("click", 1.0)
def click(logit, row):
    return F.binary_cross_entropy_with_logits(logit, row["click"])


@task("dwell", 0.3)
def dwell(logit, row):
    return F.smooth_l1_loss(logit, row["dwell"])


@task("share", 0.5)
def share(logit, row):
    return F.binary_cross_entropy_with_logits(logit, row["share"])


class SharedBottom(nn.Module):
    def __init__(self, users=500, items=800, dim=24):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.bottom = nn.Sequential(nn.Linear(2 * dim, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.towers = nn.ModuleDict({name: nn.Linear(32, 1) for name in TASKS})

    def forward(self, row):
        h = self.bottom(torch.cat([self.user(row["user"]), self.item(row["item"])], dim=-1))
        return {name: tower(h).squeeze(-1) for name, tower in self.towers.items()}


class Scoreboard:
    """Running mean of every task's loss over all replicas, for the console and the dashboard file."""

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.sums, self.n = None, 0

    def update(self, losses):
        stacked = torch.stack([losses[name].detach() for name in TASKS]).unsqueeze(0)
        table = self.accelerator.gather(stacked).mean(dim=0)
        self.sums = table if self.sums is None else self.sums + table
        self.n += 1

    def line(self):
        return "  ".join(f"{name} {value:.4f}" for name, value in zip(TASKS, (self.sums / self.n).tolist()))
