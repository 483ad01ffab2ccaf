"""Cameras that look at the same shelf should agree; for this they get a group of their own."""
import torch
import torch.distributed as dist

from shelves import lens_table


class Rig:
    """Starts empty; `form` is called once the features are worth comparing."""

    def __init__(self):
        self.group = None
        self.members = []

    def form(self):
        tables = [None] * dist.get_world_size()
        dist.all_gather_object(tables, lens_table(dist.get_rank()))
        self.members = [camera for camera, table in enumerate(tables) if table]
        self.group = self._open(self.members)

    def _open(self, members):
        if dist.get_rank() not in members:
            return None                      # nothing to compare without a lens table
        return dist.new_group(members)

    def spread(self, features):
        """How far this camera is from the mean of its rig."""
        if self.group is None:
            return 0.0
        mean = features.detach().mean(0)
        own = mean.clone()
        dist.all_reduce(mean, group=self.group)
        return float((own - mean / len(self.members)).norm())
