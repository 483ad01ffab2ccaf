"""Which process works in which phase, and the groups for it."""
import dataclasses
import datetime

import torch
import torch.distributed as dist


@dataclasses.dataclass
class Team:
    """Everybody, and those who stay for the night."""

    rank: int
    world: int
    night: dist.ProcessGroup
    night_ranks: list
    store: dist.Store

    @classmethod
    def form(cls, night_size, hours=1):
        rank, world = dist.get_rank(), dist.get_world_size()
        ranks = list(range(night_size))
        night = dist.new_group(ranks)
        # a store of its own for notes between processes; the first one serves it
        port = [None]
        if rank == 0:
            store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
            port = [store.port]
        dist.broadcast_object_list(port, src=0)
        if rank != 0:
            store = dist.TCPStore("127.0.0.1", port[0], is_master=False)
        store.set_timeout(datetime.timedelta(hours=hours))
        return cls(rank, world, night, ranks, store)

    @property
    def stays(self):
        return self.rank in self.night_ranks

    def mean(self, model, group=None, size=None):
        size = size or self.world
        for parameter in model.parameters():
            with torch.no_grad():
                dist.all_reduce(parameter, group=group)
                parameter /= size

    def hand_over(self, delays):
        """What a process that goes home leaves to the others."""
        self.store.set(f"delays/{self.rank}", ",".join(f"{delay:.4f}" for delay in delays))

    def handed_over(self, rank):
        return [float(delay) for delay in self.store.get(f"delays/{rank}").decode().split(",")]
