import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset


class NoteCorpus(Dataset):
    """Tokenised notes. A few hospitals export the whole stay as one note."""

    def __init__(self, count, vocab=500):
        self.vocab = vocab
        g = torch.Generator().manual_seed(3)
        self.lengths = torch.randint(12, 40, (count,), generator=g).tolist()
        self.lengths[177] = 4_800_000

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        tokens = torch.randint(1, self.vocab, (self.lengths[i],), generator=g)
        return tokens, i % 4


def pad_notes(samples):
    tokens = pad_sequence([s[0] for s in samples], batch_first=True)
    return tokens, torch.tensor([s[1] for s in samples])
