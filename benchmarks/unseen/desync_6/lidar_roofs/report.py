"""Counts of right answers, kind by kind."""

import torch

from roofs import KINDS


class Report:
    """Keeps, for every kind of roof, how many were right and how many there were in the town."""

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.totals = {kind: torch.zeros(2) for kind in KINDS}

    def of_batch(self, logits, kinds):
        right = logits.argmax(dim=1) == kinds
        counts = {}
        for number in kinds.unique().tolist():
            mine = kinds == number
            counts[KINDS[number]] = torch.stack([right[mine].sum(), mine.sum()]).float()
        return counts

    def add(self, logits, kinds):
        counts = self.of_batch(logits, kinds)
        for kind, count in counts.items():
            self.totals[kind] += self.accelerator.reduce(count, reduction="sum")

    def line(self):
        return ", ".join(f"{kind} {t[0] / t[1].clamp(min=1):.2f}" for kind, t in self.totals.items())
