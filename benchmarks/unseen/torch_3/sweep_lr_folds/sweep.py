"""Grid of trials: rows share a learning rate, columns share a cross-validation fold."""
import torch
import torch.distributed as dist


class TrialGrid:
    def __init__(self, lrs, folds):
        self.lrs, self.folds = lrs, folds
        self.rank = dist.get_rank()
        self.row, self.col = divmod(self.rank, len(folds))
        rows = [[r * len(folds) + c for c in range(len(folds))] for r in range(len(lrs))]
        cols = [list(col) for col in zip(*rows)]
        self.groups = {}
        for r, members in enumerate(rows):
            group = dist.new_group(members)
            if r == self.row:
                self.groups["lr"] = group
        for c, members in enumerate(cols):
            group = dist.new_group(members)
            if c == self.col:
                self.groups["fold"] = group

    @property
    def lr(self):
        return self.lrs[self.row]


class AxisSync:
    """Keeps the body in step along the lr row and the statistics along the fold column.

    The axis with the most rows gathered since its last exchange goes first, so that the more
    stale of the two is refreshed earlier.
    """

    def __init__(self, grid):
        self.grid = grid
        self.pending = {"lr": 0, "fold": 0}
        self.state = {"lr": torch.zeros(6), "fold": torch.zeros(6)}

    def record(self, axis, values):
        self.state[axis] += values.detach().sum(0)
        self.pending[axis] += len(values)

    def exchange(self):
        stale_first = sorted(self.pending, key=self.pending.get, reverse=True)
        for axis in stale_first:
            dist.all_reduce(self.state[axis], group=self.grid.groups[axis])
            self.state[axis] /= 2
            self.pending[axis] = 0
