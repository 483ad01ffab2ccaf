import torch
import torch.distributed as dist


class LossBook:
    """Sums of losses and of rows, by task."""

    def __init__(self, device):
        self.device = device
        self.entries = {}

    def add(self, name, loss, rows):
        entry = self.entries.setdefault(name, torch.zeros(2, device=self.device))
        entry += torch.stack([loss * rows, torch.full_like(loss, float(rows))])

    def close(self):
        """Means over all ranks; empties the book."""
        for entry in self.entries.values():
            dist.all_reduce(entry)
        means = {name: (e[0] / e[1]).item() for name, e in self.entries.items()}
        self.entries = {}
        return means
