import json

import torch
from torch.utils.data import Dataset

PAD, BOS, EOS, UNK = 0, 1, 2, 3


class Vocab:
    def __init__(self, path):
        with open(path) as f:
            self.words = ["<pad>", "<s>", "</s>", "<unk>"] + [w.strip() for w in f]
        self.ids = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, text, limit):
        return [self.ids.get(w, UNK) for w in text.lower().split()[:limit]]

    def decode(self, ids):
        out = []
        for i in ids:
            if i == EOS:
                break
            if i not in (PAD, BOS):
                out.append(self.words[i])
        return " ".join(out)


class Headlines(Dataset):
    def __init__(self, path, vocab, max_source=128, max_target=24):
        with open(path) as f:
            rows = [json.loads(line) for line in f]
        self.rows = [(vocab.encode(r["article"], max_source), vocab.encode(r["headline"], max_target) + [EOS])
                     for r in rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def pad(seqs):
    out = torch.full((len(seqs), max(len(s) for s in seqs)), PAD)
    for i, s in enumerate(seqs):
        out[i, :len(s)] = torch.tensor(s)
    return out


def collate(batch):
    source, target = zip(*batch)
    return {"source": pad(source), "target": pad(target)}
