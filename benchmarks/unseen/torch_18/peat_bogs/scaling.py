"""Standardisation of probe readings by running statistics."""
import torch
import torch.distributed as dist


class RunningScaler:
    """Mean and deviation of every channel.

    Each process adds up the readings that it sees. `merge` puts the sums of all processes together, so that
    a reading has the same standardised value everywhere.
    """

    def __init__(self, channels, floor=1e-3):
        self.floor = floor
        self.local = torch.zeros(3, channels, dtype=torch.float64)
        self.whole = torch.zeros(3, channels, dtype=torch.float64)

    def update(self, readings):
        values = readings.double()
        self.local[0] += len(values)
        self.local[1] += values.sum(0)
        self.local[2] += values.square().sum(0)

    def merge(self):
        totals = self.local.clone()
        dist.all_reduce(totals)
        self.whole = self.whole + totals
        self.local.zero_()

    def statistics(self):
        seen = self.whole + self.local
        count = seen[0].clamp(min=1)
        mean = seen[1] / count
        deviation = (seen[2] / count - mean.square()).clamp(min=0).sqrt()
        return mean.float(), deviation.float().clamp(min=self.floor)

    def __call__(self, readings):
        mean, deviation = self.statistics()
        return (readings - mean) / deviation

    def state_dict(self):
        """What is stored has the readings of the whole job in it, those since the last merge included."""
        self.merge()
        mean, deviation = self.statistics()
        return {"sums": self.whole.clone(), "mean": mean, "deviation": deviation}

    def load_state_dict(self, state):
        self.whole = state["sums"].clone()
        self.local.zero_()
