"""Validation scores over all hospitals, one kind of score for each kind of outcome."""

import torch
import torch.distributed as dist


class Ranking:
    """Area under the ROC curve; needs the scores of all hospitals side by side."""

    def __init__(self, capacity=64):
        self.capacity = capacity
        self.rows = []

    def add(self, prediction, truth):
        self.rows.append((prediction, truth))

    def compute(self):
        table = torch.full((self.capacity, 2), float("nan"))
        table[: len(self.rows)] = torch.tensor(self.rows)
        tables = [torch.empty_like(table) for _ in range(dist.get_world_size())]
        dist.all_gather(tables, table)
        scores, labels = torch.cat(tables).unbind(1)
        positive, negative = scores[labels == 1], scores[labels == 0]
        return (positive[:, None] > negative[None, :]).float().mean().item()


class Deviation:
    """Mean absolute error."""

    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, prediction, truth):
        self.total += abs(prediction - truth)
        self.count += 1

    def compute(self):
        sums = torch.tensor([self.total, self.count], dtype=torch.float64)
        dist.all_reduce(sums)
        return (sums[0] / sums[1]).item()


class Scorecard:
    KINDS = {"mortality": Ranking, "stay": Deviation}

    def __init__(self):
        self.scores = {}

    def record(self, outcome, prediction, truth):
        if outcome not in self.scores:
            self.scores[outcome] = self.KINDS[outcome]()
        self.scores[outcome].add(prediction, truth)

    def report(self):
        return {outcome: score.compute() for outcome, score in self.scores.items()}
