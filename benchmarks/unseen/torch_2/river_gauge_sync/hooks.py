"""Step hooks. A hook is any callable taking the shared `state` dict."""
from collections import OrderedDict

import torch
import torch.distributed as dist


class HookTable:
    def __init__(self):
        self._hooks = OrderedDict()

    def add(self, name, every):
        def decorate(fn):
            self._hooks[name] = (every, fn)
            return fn
        return decorate

    def remove(self, name):
        return self._hooks.pop(name, None)

    def restore(self, name, entry):
        if entry is not None:
            self._hooks[name] = entry

    def fire(self, step, state):
        for every, fn in list(self._hooks.values()):
            if step % every == 0:
                fn(state)


def default_hooks():
    table = HookTable()

    @table.add("datum", every=5)
    def share_datum(state):
        """The reference gauge is on rank 0, everybody uses its zero level."""
        dist.broadcast(state["datum"], src=0)

    @table.add("levels", every=5)
    def network_level(state):
        levels = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(levels, state["level"])
        state["network"] = torch.cat(levels).mean()

    @table.add("residual", every=10)
    def residual(state):
        r = state["residual"].clone()
        dist.all_reduce(r)
        state["mean_residual"] = r / dist.get_world_size()

    return table
