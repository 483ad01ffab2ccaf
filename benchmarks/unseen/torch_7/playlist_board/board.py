from __future__ import annotations

import torch.distributed as dist


class Running:
    __slots__ = ("total", "count")

    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, value, n=1):
        self.total += value * n
        self.count += n


class Board:
    """Named averages over all workers; emptied at every flush."""

    def __init__(self):
        self._cells: dict[str, Running] = {}

    def __getitem__(self, name) -> Running:
        return self._cells.setdefault(name, Running())

    @staticmethod
    def _merge(cell: Running) -> float:
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, (cell.total, cell.count))
        return sum(t for t, _ in parts) / max(1, sum(c for _, c in parts))

    def flush(self) -> dict[str, float]:
        merged = {name: self._merge(self._cells[name]) for name in sorted(self._cells)}
        self._cells.clear()
        return merged
