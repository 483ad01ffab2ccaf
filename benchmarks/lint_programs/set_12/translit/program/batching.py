import torch
from torch.utils.data import Sampler


class TokenBudgetBatches(Sampler):
    """Batches of similar length with at most `budget` padded tokens each."""

    def __init__(self, lengths, budget, rank, world_size, seed=0):
        self.lengths = torch.as_tensor(lengths)
        self.budget, self.rank, self.world_size, self.seed = budget, rank, world_size, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def pack(self, order, g):
        # sort within pools so that batches hold words of like length
        batches, current, longest = [], [], 0
        for pool in order.split(256):
            for i in pool[self.lengths[pool].argsort()].tolist():
                n = int(self.lengths[i])
                if current and max(longest, n) * (len(current) + 1) > self.budget:
                    batches.append(current)
                    current, longest = [], 0
                current.append(i)
                longest = max(longest, n)
        if current:
            batches.append(current)
        return [batches[i] for i in torch.randperm(len(batches), generator=g).tolist()]

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.lengths), generator=g)
        mine = order[self.rank:len(order) - len(order) % self.world_size:self.world_size]
        yield from self.pack(mine, g)
