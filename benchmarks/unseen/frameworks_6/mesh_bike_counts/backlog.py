"""Statistics that are kept locally and reduced over an axis of the mesh when flushed."""
from collections import defaultdict

import torch
import torch.distributed as dist


class Backlog:
    def __init__(self, mesh):
        self.groups = {axis: mesh.get_group(axis) for axis in mesh.mesh_dim_names}
        self.waiting = defaultdict(list)

    def put(self, axis, value):
        self.waiting[axis].append(float(value))

    def flush(self):
        """Empties the fullest queue first, to free its memory soonest."""
        result = {}
        for axis in sorted(self.waiting, key=lambda a: len(self.waiting[a]), reverse=True):
            values = self.waiting[axis]
            t = torch.tensor([sum(values), len(values)], dtype=torch.float64)
            dist.all_reduce(t, group=self.groups[axis])
            result[axis] = (t[0] / t[1]).item()
        self.waiting.clear()
        return result
