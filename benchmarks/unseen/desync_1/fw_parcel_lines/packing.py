"""Address lines of parcels, and their packing into micro-batches of a limited number of characters."""

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

ALPHABET = 48
REGIONS = 6


class Lines(Dataset):
    usual = 24
    # lines that carry a full customs declaration
    declared = {2411: 60}

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(910_000 + i)
        region = i * 13 // 5 % REGIONS
        length = self.declared.get(i, self.usual)
        text = torch.randint(1, ALPHABET, (length,), generator=gen)
        text[3:7] = 1 + region * 7
        return text, region


def pack(lines, budget):
    """Splits a batch into micro-batches whose texts have at most `budget` characters together."""
    parts, part, used = [], [], 0
    for text, region in lines:
        if part and used + len(text) > budget:
            parts.append(part)
            part, used = [], 0
        part.append((text, region))
        used += len(text)
    parts.append(part)
    return parts


def stack(part):
    texts, regions = zip(*part)
    return pad_sequence(list(texts), batch_first=True), torch.tensor(regions)
