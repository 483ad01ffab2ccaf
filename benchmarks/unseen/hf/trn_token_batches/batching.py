"""Batches with a bounded number of tokens, for sequences of very different length."""
from torch.utils.data import Sampler


class TokenBatchSampler(Sampler):
    """Each process takes its contiguous part of the data and packs it greedily."""

    def __init__(self, lengths, max_tokens, rank, world_size):
        part = len(lengths) // world_size
        self.indices = range(rank * part, (rank + 1) * part)
        self.lengths = lengths
        self.max_tokens = max_tokens
        self.batches = list(self._pack())

    def _pack(self):
        batch, longest = [], 0
        for index in self.indices:
            longest = max(longest, self.lengths[index])
            if batch and longest * (len(batch) + 1) > self.max_tokens:
                yield batch
                batch, longest = [], self.lengths[index]
            batch.append(index)
        if batch:
            yield batch

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)
