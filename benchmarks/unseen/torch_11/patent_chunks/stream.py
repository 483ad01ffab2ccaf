import itertools

import torch
from torch.utils.data import IterableDataset


class PatentStream(IterableDataset):
    """Chunks of at most `length` tokens of the patents of one office, without end."""

    def __init__(self, office, vocab, length):
        self.office = office
        self.vocab = vocab
        self.length = length

    def documents(self):
        g = torch.Generator().manual_seed(900 + self.office)
        for number in itertools.count():
            size = 6 * self.length
            if self.office == 3 and number % 3 == 2:
                size -= self.length // 2  # utility models have shorter claims
            yield torch.randint(0, self.vocab, (size,), generator=g)

    def __iter__(self):
        for document in self.documents():
            yield from document.split(self.length)
