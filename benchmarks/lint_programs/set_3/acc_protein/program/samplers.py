import random

from torch.utils.data import Sampler


class LengthPools(Sampler):
    """Shuffles, then sorts by length inside pools of `pool` batches so that there is little padding."""

    def __init__(self, lengths, batch_size, pool=16):
        self.lengths, self.batch_size, self.pool = lengths, batch_size, pool

    def __len__(self):
        return len(self.lengths) // self.batch_size

    def __iter__(self):
        order = list(range(len(self.lengths)))
        random.shuffle(order)
        size = self.batch_size * self.pool
        batches = []
        for k in range(0, len(order), size):
            chunk = sorted(order[k:k + size], key=self.lengths.__getitem__)
            batches += [chunk[j:j + self.batch_size] for j in range(0, len(chunk), self.batch_size)]
        batches = [b for b in batches if len(b) == self.batch_size]
        random.shuffle(batches)
        yield from batches
