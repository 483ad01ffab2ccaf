"""Running totals of a training epoch, combined over the processes at its end."""

import torch


class Ledger:
    """Named amounts of this process; `close` returns their sums over all processes and starts anew."""

    def __init__(self, fabric, names):
        self.fabric = fabric
        self.entries = {name: [] for name in names}

    def enter(self, name, amount):
        self.entries[name].append(float(amount))

    def close(self):
        totals = {}
        for name in sorted(self.entries):
            own = torch.tensor(sum(self.entries[name]))
            totals[name] = self.fabric.all_reduce(own, reduce_op="sum").item()
            self.entries[name].clear()
        return totals


class Penalty:
    """Discourages predictions far outside the range that a hop can have."""

    def __init__(self, low, high, weight=0.5):
        self.low = low
        self.high = high
        self.weight = weight

    def __call__(self, predicted):
        above = (predicted - self.high).clamp(min=0)
        below = (self.low - predicted).clamp(min=0)
        excess = (above + below).mean()
        return self.weight * excess


def report(epoch, totals, batches):
    """One line for the console."""
    return f"epoch {epoch:2d}  " + "  ".join(f"{name} {total / batches:.4f}" for name, total in totals.items())
