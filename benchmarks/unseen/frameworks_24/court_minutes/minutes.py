"""Minutes of village courts as sequences of tokens, one court per process."""

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

TOKENS = 200
VERDICTS = 5


class Court(Dataset):
    """Cases in the order in which they were heard; a boundary dispute is written down in full."""

    def __init__(self, number, count, disputes=()):
        self.number = number
        self.count = count
        self.disputes = set(disputes)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(10_000 * self.number + i)
        length = 72 if i in self.disputes else int(torch.randint(20, 41, (), generator=g))
        verdict = int(torch.randint(0, VERDICTS, (), generator=g))
        words = torch.randint(1, TOKENS - VERDICTS, (length,), generator=g)
        words[::5] = TOKENS - VERDICTS + verdict
        return words, verdict


def collate(cases):
    """Longest first, so that neighbours have about the same length."""
    cases = sorted(cases, key=lambda case: -len(case[0]))
    return [words for words, _ in cases], torch.tensor([verdict for _, verdict in cases])


def pieces(batch, budget):
    """Parts of a batch whose padded size stays within `budget` tokens."""
    texts, verdicts = batch
    start = 0
    while start < len(texts):
        stop = start + max(1, budget // len(texts[start]))
        yield pad_sequence(texts[start:stop], batch_first=True), verdicts[start:stop]
        start = stop
