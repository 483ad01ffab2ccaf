import torch
import torch.distributed as dist

from votes import CLASSES


class Tally:
    """Per class: what was seen, and what was predicted right."""

    def __init__(self):
        self.seen = [0] * CLASSES
        self.right = [0] * CLASSES

    def count(self, predicted, item):
        self.seen[item.label] += item.trust
        if predicted == item.label:
            self.right[item.label] += item.trust

    def merged(self):
        table = torch.tensor([self.seen, self.right])
        dist.all_reduce(table)
        return table

    def balanced_accuracy(self):
        seen, right = self.merged()
        return (right / seen.clamp(min=1)).mean().item()
