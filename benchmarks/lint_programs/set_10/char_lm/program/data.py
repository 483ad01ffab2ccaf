import torch
from torch.utils.data import Dataset

ALPHABET = "abcdefghijklmnopqrstuvwxyz .,\n"


def make_corpus(n_chars, seed=7):
    """A second-order Markov chain over ALPHABET, the same on every rank."""
    g = torch.Generator().manual_seed(seed)
    v = len(ALPHABET)
    table = torch.rand(v, v, generator=g).pow(6)
    table = table / table.sum(1, keepdim=True)
    out = [0]
    for _ in range(n_chars - 1):
        out.append(int(torch.multinomial(table[out[-1]], 1, generator=g)))
    return torch.tensor(out)


class CharWindows(Dataset):
    def __init__(self, text, block):
        self.text, self.block = text, block

    def __len__(self):
        return (len(self.text) - 1) // self.block

    def __getitem__(self, i):
        s = i * self.block
        return self.text[s:s + self.block], self.text[s + 1:s + self.block + 1]
