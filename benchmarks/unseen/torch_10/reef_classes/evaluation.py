"""Cover error by coral genus."""

from collections import defaultdict

import torch
import torch.distributed as dist


class GenusErrors:
    def __init__(self, names):
        self.names = names
        self.sums = defaultdict(lambda: torch.zeros(2))

    def add(self, genera, errors):
        for genus, error in zip(genera.tolist(), errors.tolist()):
            self.sums[self.names[genus]] += torch.tensor([error, 1.0])

    def merged(self):
        table = {}
        for name in sorted(self.sums):
            total = self.sums[name].clone()
            dist.all_reduce(total)
            table[name] = (total[0] / total[1]).item()
        return table


@torch.no_grad()
def evaluate(network, loader, names):
    network.eval()
    errors = GenusErrors(names)
    for x, cover, genus in loader:
        errors.add(genus, (network(x).squeeze(1).sigmoid() - cover).abs())
    network.train()
    return errors.merged()
