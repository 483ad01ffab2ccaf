import torch
from torch.utils.data import Dataset

PAD = 0


class Sentences(Dataset):
    """Sentences of very different length from a small Markov source."""

    def __init__(self, count, vocab=120, longest=60, seed=0):
        self.count, self.vocab, self.longest, self.seed = count, vocab, longest, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 7919 + i)
        n = int(4 + (self.longest - 4) * torch.rand((), generator=g) ** 3)
        noise = torch.randint(0, 3, (n,), generator=g).tolist()
        word = int(torch.randint(1, self.vocab, (), generator=g))
        words = [word]
        for k in noise:
            word = 1 + (word * 5 + k) % (self.vocab - 1)
            words.append(word)
        return torch.tensor(words)


def pad_batch(sentences):
    width = max(len(s) for s in sentences)
    out = torch.full((len(sentences), width), PAD)
    for row, s in zip(out, sentences):
        row[: len(s)] = s
    return out[:, :-1], out[:, 1:]
