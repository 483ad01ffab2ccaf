"""Scores per genus over all processes."""

from collections import defaultdict

import torch

from prints import GENERA


class GenusScores:
    """Sums of loss, hits and counts for each genus; `totals()` adds up those of all processes."""

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.sums = defaultdict(lambda: {"loss": torch.zeros(()), "hits": torch.zeros(()), "count": torch.zeros(())})

    def add(self, logits, genus):
        losses = torch.nn.functional.cross_entropy(logits, genus, reduction="none")
        hits = (logits.argmax(-1) == genus).float()
        for k in genus.unique().tolist():
            mine = genus == k
            entry = self.sums[GENERA[k]]
            entry["loss"] += losses[mine].sum()
            entry["hits"] += hits[mine].sum()
            entry["count"] += mine.sum()

    def totals(self):
        ordered = {name: self.sums[name] for name in sorted(self.sums)}
        return self.accelerator.reduce(ordered, reduction="sum")

    def table(self):
        return {
            name: (entry["loss"] / entry["count"]).item()
            for name, entry in self.totals().items()
        }
