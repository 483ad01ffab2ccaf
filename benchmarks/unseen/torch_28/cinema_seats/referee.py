"""Only one rank evaluates; the others look at the store now and then instead of sitting in a barrier."""
import time

import torch
from torch.distributed import PrefixStore
from torch.distributed.distributed_c10d import _get_default_store


class Referee:
    def __init__(self, rank, judge=0):
        self.rank, self.judge = rank, judge
        self.store = PrefixStore("referee", _get_default_store())

    def round(self, number, module, evenings):
        """Returns the held-out error, the same on all ranks."""
        key = f"error/{number}"
        if self.rank == self.judge:
            self.store.set(key, str(self._evaluate(module, evenings)))
        else:
            while not self.store.check([key]):
                time.sleep(0.2)
        return float(self.store.get(key))

    def _evaluate(self, module, evenings):
        module.eval()
        total = 0.0
        with torch.no_grad():
            for viewers, films, seats in evenings:
                total += (module(viewers, films) - seats).square().mean().item()
                time.sleep(0.12)            # the held-out evenings come from the slow database
        module.train()
        return total / len(evenings)
