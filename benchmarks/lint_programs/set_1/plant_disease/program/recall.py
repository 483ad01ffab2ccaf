import torch


class ClassCounts:
    """Per class hits and totals; every process holds the same numbers after each update."""

    def __init__(self, num_classes):
        self.num_classes = num_classes
        self.hits = torch.zeros(num_classes, dtype=torch.long)
        self.totals = torch.zeros(num_classes, dtype=torch.long)

    def update(self, preds, targets):
        self.totals += torch.bincount(targets, minlength=self.num_classes)
        self.hits += torch.bincount(targets[preds == targets], minlength=self.num_classes)

    def summary(self):
        seen = self.totals > 0
        per_class = self.hits[seen].double() / self.totals[seen].double()
        return {
            "top1": self.hits.sum().item() / max(self.totals.sum().item(), 1),
            "recall": per_class.mean().item(),
        }
