import torch
import torch.distributed as dist


class IntentAccuracy:
    """Share of correct answers for each intent, over all processes."""

    def __init__(self, names):
        self.names = names
        self.counts = {}

    def update(self, predicted, target):
        for p, t in zip(predicted.tolist(), target.tolist()):
            entry = self.counts.setdefault(self.names[t], torch.zeros(2, dtype=torch.float64))
            entry[0] += float(p == t)
            entry[1] += 1

    def compute(self):
        result = {}
        for name, entry in sorted(self.counts.items()):
            dist.all_reduce(entry)
            result[name] = (entry[0] / entry[1]).item()
        return result
