import json
import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

PAD, BOS, EOS = 0, 1, 2


class PairDataset(Dataset):
    def __init__(self, path, vocab, max_len):
        if path:
            with open(path) as f:
                rows = [json.loads(line) for line in f]
            self.pairs = [(r["src"][:max_len], r["tgt"][: max_len - 1]) for r in rows]
        else:  # copy task
            rnd = random.Random(0)
            self.pairs = []
            for _ in range(1000):
                n = min(max_len - 1, 2 + int(rnd.expovariate(1 / 12)))
                ids = [rnd.randrange(3, vocab) for _ in range(n)]
                self.pairs.append((ids, ids))
        self.lengths = [max(len(s), len(t) + 1) for s, t in self.pairs]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        src, tgt = self.pairs[i]
        return torch.tensor(src), torch.tensor([BOS] + tgt), torch.tensor(tgt + [EOS])


def collate(rows):
    return tuple(pad_sequence(col, batch_first=True, padding_value=PAD) for col in zip(*rows))
