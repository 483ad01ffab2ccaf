"""Figures of the training, averaged over all laboratories without holding up the training."""

import torch
import torch.distributed as dist


def figures(logits, label, loss):
    """What is reported of a slide."""
    found = logits > 0
    hits = float((found & (label > 0)).sum())
    values = {"loss": loss, "accuracy": float((found == (label > 0)).float().mean())}
    values["found"] = float(found.float().mean())
    if label.any():
        values["sensitivity"] = hits / float(label.sum())
    return values


class Board:
    """Reductions run in a group of their own in the background, and are awaited at the end only."""

    def __init__(self):
        self.group = dist.new_group(backend="gloo")
        self.size = dist.get_world_size()
        self.pending = []

    def post(self, step, values):
        for name in sorted(values):
            value = torch.tensor([values[name]], dtype=torch.float64)
            work = dist.all_reduce(value, group=self.group, async_op=True)
            self.pending.append((step, name, value, work))

    def collect(self):
        history = {}
        for step, name, value, work in self.pending:
            work.wait()
            history.setdefault(name, []).append((step, value.item() / self.size))
        self.pending.clear()
        return history
