import torch
from torch.utils.data import Dataset

VOCAB = 12


class Utterances(Dataset):
    """Synthetic filterbanks: every token is a short burst in one band."""

    def __init__(self, n, offset=0):
        self.n, self.offset = n, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(self.offset + i)
        length = int(torch.randint(3, 7, (1,), generator=gen))
        tokens = torch.randint(1, VOCAB, (length,), generator=gen)
        feats = 0.2 * torch.randn(length * 6, 16, generator=gen)
        for k, tok in enumerate(tokens.tolist()):
            feats[6 * k + 1 : 6 * k + 5, tok] += 1.5
        return feats, tokens


def collate(items):
    feats, tokens = zip(*items)
    feat_len = torch.tensor([len(f) for f in feats])
    tok_len = torch.tensor([len(t) for t in tokens])
    feats = torch.nn.utils.rnn.pad_sequence(feats, batch_first=True)
    return feats, feat_len, torch.cat(tokens), tok_len
