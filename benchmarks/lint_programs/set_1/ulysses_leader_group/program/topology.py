from __future__ import annotations

import torch.distributed as dist


class Topology:
    """Rank r is member r % sp of replica r // sp."""

    def __init__(self, sp: int):
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        assert self.world % sp == 0, f"{self.world} ranks can not be split into groups of {sp}"
        self.sp = sp
        self.replicas = self.world // sp
        self.replica, self.sp_rank = divmod(self.rank, sp)

        for i in range(self.replicas):
            members = list(range(i * sp, (i + 1) * sp))
            group = dist.new_group(members)
            if self.rank in members:
                self.sp_group = group

        self.leaders = list(range(0, self.world, sp))
        self._leader_group = None

    @property
    def is_leader(self) -> bool:
        return self.sp_rank == 0

    @property
    def leader_group(self):
        """The first ranks of all replicas."""
        if self._leader_group is None:
            self._leader_group = dist.new_group(self.leaders)
        return self._leader_group
