import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset


class Manifest(Dataset):
    def __init__(self, tsv, max_frames):
        self.rows = []
        with open(tsv, encoding="utf8") as f:
            for line in f:
                utt, path, n, tokens = line.rstrip("\n").split("\t")
                if int(n) <= max_frames:
                    self.rows.append((utt, path, int(n), [int(t) for t in tokens.split()]))

    @property
    def lengths(self):
        return [r[2] for r in self.rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        utt, path, _, tokens = self.rows[i]
        return utt, torch.from_numpy(np.load(path)).float(), torch.tensor(tokens)


def collate(batch):
    batch = sorted(batch, key=lambda b: b[1].size(0), reverse=True)
    keys, feats, labels = zip(*batch)
    return (
        list(keys),
        pad_sequence(feats, batch_first=True),
        torch.tensor([f.size(0) for f in feats]),
        pad_sequence(labels, batch_first=True, padding_value=-1),
        torch.tensor([t.numel() for t in labels]),
    )
