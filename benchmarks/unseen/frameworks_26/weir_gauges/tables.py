import torch
import torch.distributed as dist
from lightning.pytorch.callbacks import Callback

from gauges import BINS, survey


class Table:
    """Offset and gain for each metre of water."""

    def __init__(self):
        self.offset = torch.zeros(BINS)
        self.gain = torch.ones(BINS)

    def fit(self, reading, staff):
        metre = staff.long().clamp(max=BINS - 1)
        residual = torch.empty(BINS)
        for i in range(BINS):
            x, y = reading[metre == i], staff[metre == i]
            self.gain[i] = ((x - x.mean()) * (y - y.mean())).mean() / x.var()
            self.offset[i] = y.mean() - self.gain[i] * x.mean()
            residual[i] = (x - 1.1 * y + 0.2).square().mean()
        return residual.mean().sqrt().item()


class BestTable(Callback):
    """After each week (an epoch) the stations go on with the table of the best gauge.

    A station gives its own table up only for one that is clearly better, by `margin`: a table that changes every week
    makes the series of its levels uneven.
    """

    def __init__(self, margin=0.05):
        self.margin = margin
        self.table = Table()
        self.donors = []

    def donor(self, scores, station):
        scores = scores.clone()
        scores[station] *= 1 - self.margin
        return int(scores.argmin())

    def on_train_epoch_end(self, trainer, pl_module):
        station = trainer.global_rank
        own = self.table.fit(*survey(station, trainer.current_epoch))
        scores = pl_module.all_gather(torch.tensor(own)).flatten()
        donor = self.donor(scores, station)
        self.donors.append(donor)
        for part in (self.table.offset, self.table.gain):
            dist.broadcast(part, src=donor)
