"""Statistics that are summed over one dimension of the device mesh."""
from collections import OrderedDict

import torch
from torch.distributed.tensor import DTensor, Partial


class Ledger:
    def __init__(self, mesh):
        self.mesh = mesh
        self._open = OrderedDict()
        self.totals = {}

    def add(self, name, value, over):
        """Add ``value`` to the open entry ``name``, which is summed over ``over``."""
        value = torch.as_tensor(value, dtype=torch.float32).reshape(1)
        if name in self._open:
            value = value + self._open[name][0]
            self._open[name] = (value, over)
        else:
            self._open[name] = (value, over)

    def settle(self):
        while self._open:
            name, (value, over) = self._open.popitem(last=False)
            total = DTensor.from_local(value, self.mesh[over], [Partial()]).full_tensor()
            self.totals[name] = self.totals.get(name, 0.0) + total.item()
        return dict(self.totals)
