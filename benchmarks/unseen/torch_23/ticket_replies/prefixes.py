"""Keys and values of product prefixes, kept for the next ticket about the same product."""
import collections
import dataclasses

import torch


@dataclasses.dataclass
class Entry:
    keys: torch.Tensor
    values: torch.Tensor

    @property
    def size(self):
        return sum(t.numel() * t.element_size() for t in (self.keys, self.values))


class PrefixCache:
    """Least recently used prefixes leave when the budget in bytes is exceeded."""

    def __init__(self, budget):
        self.budget = budget
        self.entries = collections.OrderedDict()
        self.size = 0
        self.hits = self.misses = 0

    def get(self, product, compute):
        if product in self.entries:
            self.hits += 1
            self.entries.move_to_end(product)
            return self.entries[product]
        self.misses += 1
        entry = compute()
        self.add(product, entry)
        return entry

    def add(self, product, entry):
        self.entries[product] = entry
        self.size += entry.size
        while self.size > self.budget:
            _, old = self.entries.popitem(last=False)
            self.size -= old.size

    def __len__(self):
        return len(self.entries)
