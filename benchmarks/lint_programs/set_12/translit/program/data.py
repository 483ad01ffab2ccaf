import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

PAD, BOS, EOS = 0, 1, 2


class Names(Dataset):
    """Synthetic names in one script and their spelling in another."""

    def __init__(self, n, letters, seed):
        g = torch.Generator().manual_seed(seed)
        self.pairs = []
        for _ in range(n):
            size = int(torch.randint(2, 15, (1,), generator=g))
            src = torch.randint(3, 3 + letters, (size,), generator=g)
            tgt = 3 + (src - 3 + letters // 2) % letters
            doubled = src % 4 == 0
            tgt = tgt.repeat_interleave(1 + doubled.long())
            self.pairs.append((src, torch.cat([torch.tensor([BOS]), tgt, torch.tensor([EOS])])))
        self.lengths = [max(len(s), len(t)) for s, t in self.pairs]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


def collate(rows):
    src, tgt = zip(*rows)
    return pad_sequence(src, True, PAD), pad_sequence(tgt, True, PAD)
