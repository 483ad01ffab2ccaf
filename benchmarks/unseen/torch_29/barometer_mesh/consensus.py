"""Stations compare their drift; those that agree calibrate among themselves from then on."""
import torch
import torch.distributed as dist


class Consensus:
    def __init__(self, tolerance=0.5):
        self.tolerance = tolerance
        self.members = list(range(dist.get_world_size()))
        self.peers = dist.group.WORLD

    def review(self, drift):
        """Leaves out the stations whose drift is far from the median's, and takes them in again when
        it is not any more. Every rank gets the same list."""
        drifts = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(drifts, drift.reshape(1))
        values = torch.cat(drifts)
        trusted = ((values - values.median()).abs() < self.tolerance).nonzero().squeeze(1).tolist()
        if trusted == self.members:
            return
        self.members = trusted
        if dist.get_rank() in trusted:
            self.peers = dist.new_group(trusted)
        else:
            self.peers = None

    def offset(self, reading):
        """The mean reading of the trusted stations; a station that is left out keeps its own."""
        if self.peers is None:
            return reading
        total = reading.clone()
        dist.all_reduce(total, group=self.peers)
        return total / len(self.members)
