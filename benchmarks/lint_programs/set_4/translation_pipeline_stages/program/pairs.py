import torch
from torch.utils.data import DataLoader, TensorDataset


def make_pairs(n, vocab, length, seed):
    """'Translation': a fixed permutation of the vocabulary with the sentence reversed."""
    g = torch.Generator().manual_seed(seed)
    src = torch.randint(0, vocab, (n, length), generator=g)
    table = torch.randperm(vocab, generator=torch.Generator().manual_seed(0))
    return TensorDataset(src, table[src].flip(1))


def make_loader(n, vocab, length, batch_size, seed):
    # every stage walks the same batches: the first one needs the source, the last one the target
    order = torch.Generator().manual_seed(seed)
    return DataLoader(make_pairs(n, vocab, length, seed), batch_size=batch_size, shuffle=True, generator=order)
