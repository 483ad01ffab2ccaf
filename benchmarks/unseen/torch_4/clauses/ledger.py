"""Running means of named figures, combined over the ranks."""
from collections import OrderedDict

import torch
import torch.distributed as dist


class Ledger:
    def __init__(self):
        self._sums = OrderedDict()
        self._counts = {}

    def note(self, name, value):
        self._sums[name] = self._sums.get(name, 0.0) + float(value)
        self._counts[name] = self._counts.get(name, 0) + 1

    def __len__(self):
        return len(self._sums)

    def close(self):
        """Means over all ranks; starts a new page."""
        page = {}
        for name in sorted(self._sums):
            own = torch.tensor([self._sums[name], float(self._counts[name])])
            parts = [torch.zeros(2) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, own)
            total = torch.stack(parts).sum(0)
            page[name] = (total[0] / total[1]).item()
        self._sums.clear()
        self._counts.clear()
        return page
