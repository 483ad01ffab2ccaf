"""Keeps an eye on the size of weights, as embeddings that grow too large were the end of two earlier runs."""
import dataclasses
import logging

import torch

log = logging.getLogger("watch")


@dataclasses.dataclass
class Remark:
    step: int
    name: str
    row: int
    peak: float


class WeightWatch:
    """Looks at every parameter once in `every` steps, after the warm-up."""

    def __init__(self, model, limit, every, warm_up):
        self.model = model
        self.limit = limit
        self.every = every
        self.warm_up = warm_up
        self.remarks = []

    def due(self, step):
        return step >= self.warm_up and step % self.every == 0

    @torch.no_grad()
    def look(self, step):
        if not self.due(step):
            return
        for name, parameter in self.model.named_parameters():
            part = parameter.to_local()
            if part.numel() and part.abs().max() > self.limit:
                self.remark(step, name, parameter)

    def remark(self, step, name, parameter):
        """Notes the row in question by its number in the whole table."""
        table = parameter.full_tensor()
        rows = table.flatten(1) if table.dim() > 1 else table[:, None]
        peaks = rows.abs().amax(dim=1)
        row = int(peaks.argmax())
        self.remarks.append(Remark(step, name, row, peaks[row].item()))
        log.warning("step %d: row %d of %s reaches %.2f", step, row, name, peaks[row].item())
