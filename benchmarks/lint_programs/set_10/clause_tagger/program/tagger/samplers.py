import math

import torch
from torch.utils.data import Sampler


class BalancedSampler(Sampler):
    """Draws examples so that all classes are about equally frequent.

    The draw depends on seed and epoch alone. With `num_replicas` and `rank`
    it yields every `num_replicas`-th index of the draw, starting at `rank`.
    """

    def __init__(self, labels, num_samples=None, num_replicas=1, rank=0, seed=0):
        counts = torch.bincount(labels).clamp(min=1)
        self.weights = (1.0 / counts.double())[labels]
        self.num_replicas = num_replicas
        self.rank = rank
        self.per_replica = math.ceil((num_samples or len(labels)) / num_replicas)
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.per_replica

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + 1000 * self.epoch)
        total = self.per_replica * self.num_replicas
        draw = torch.multinomial(self.weights, total, replacement=True, generator=g)
        return iter(draw[self.rank::self.num_replicas].tolist())
