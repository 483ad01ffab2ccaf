import torch
from torch.utils.data import Sampler


def pack(indices, lengths, max_tokens):
    """Cut a list of indices into batches of at most `max_tokens` padded tokens."""
    batches, current, longest = [], [], 0
    for i in indices:
        longest_with = max(longest, lengths[i])
        if current and longest_with * (len(current) + 1) > max_tokens:
            batches.append(current)
            current, longest_with = [], lengths[i]
        current.append(i)
        longest = longest_with
    if current:
        batches.append(current)
    return batches


class TokenBatchSampler(Sampler):
    """Batches of similar lengths, a part of the data set for each rank."""

    def __init__(self, lengths, max_tokens, rank, world, seed=0, window=4096):
        self.lengths, self.max_tokens = lengths, max_tokens
        self.rank, self.world = rank, world
        self.seed, self.window = seed, window
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def sort_in_windows(self, order):
        out = []
        for start in range(0, len(order), self.window):
            out += sorted(order[start : start + self.window], key=self.lengths.__getitem__)
        return out

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.lengths), generator=g).tolist()
        usable = len(order) // self.world * self.world
        mine = order[self.rank : usable : self.world]
        batches = pack(self.sort_in_windows(mine), self.lengths, self.max_tokens)
        for b in torch.randperm(len(batches), generator=g).tolist():
            yield batches[b]
