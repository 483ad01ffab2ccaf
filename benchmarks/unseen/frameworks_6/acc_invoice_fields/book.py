"""A small book of running statistics, written once per logging interval."""
import torch


class StatBook:
    MEAN, ROWS = "mean", "rows"

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self._kind = {}
        self._values = {}

    def add(self, name, value, kind):
        self._kind.setdefault(name, kind)
        self._values.setdefault(name, []).append(value.detach().float())

    def flush(self):
        out = {}
        for name, kind in self._kind.items():
            values = self._values.get(name) or [torch.zeros(1)]
            if kind == self.MEAN:
                mine = torch.stack([v.mean() for v in values]).mean()
                out[name] = self.accelerator.reduce(mine, reduction="mean").item()
            else:
                recent = torch.cat([v.flatten() for v in values])[-8:]
                padded = torch.nn.functional.pad(recent, (0, 8 - recent.numel()))
                out[name] = self.accelerator.gather(padded).std().item()
        self._values.clear()
        return out
