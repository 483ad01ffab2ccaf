"""Batches by total frames, as in most speech toolkits."""
from torch.utils.data import Sampler


class FrameBudgetBatches(Sampler):
    def __init__(self, durations, budget, max_utts=16):
        self.durations, self.budget, self.max_utts = durations, budget, max_utts
        self._plan = list(self._cut())

    def _cut(self):
        # short ones first, so that little is lost to padding
        batch, longest = [], 0
        for i in sorted(range(len(self.durations)), key=self.durations.__getitem__):
            widest = max(longest, self.durations[i])
            if batch and (widest * (len(batch) + 1) > self.budget or len(batch) == self.max_utts):
                yield batch
                batch, widest = [], self.durations[i]
            batch.append(i)
            longest = widest
        if batch:
            yield batch

    def __iter__(self):
        return iter(self._plan)

    def __len__(self):
        return len(self._plan)
