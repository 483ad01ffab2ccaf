"""Roads between junctions, and the mixing of the policies at their two ends.

A junction shares its policy with the junctions that it is connected to, one road after the other. Each road has a
process group of its two ends.
"""
import dataclasses
import logging

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

logger = logging.getLogger("roads")


@dataclasses.dataclass
class Road:
    number: int
    ends: tuple
    group: object
    sent: int = 0

    def other(self, rank):
        return self.ends[0] if self.ends[1] == rank else self.ends[1]


class RoadNetwork:
    """A ring of junctions. `crowded` is the number of vehicles between two mixings above which a road is served first."""

    def __init__(self, crowded):
        self.rank, world = dist.get_rank(), dist.get_world_size()
        self.crowded = crowded
        self.roads = []
        for number in range(world):
            ends = tuple(sorted((number, (number + 1) % world)))
            group = dist.new_group(ends)
            if self.rank in ends:
                self.roads.append(Road(number, ends, group))

    def send(self, approach, vehicles):
        self.roads[approach % len(self.roads)].sent += vehicles

    def schedule(self):
        """Crowded roads first, otherwise by number."""
        return sorted(self.roads, key=lambda road: (road.sent <= self.crowded, road.number))

    @torch.no_grad()
    def mix(self, model):
        for road in self.schedule():
            weights = parameters_to_vector(model.parameters())
            dist.all_reduce(weights, group=road.group)
            vector_to_parameters(weights / 2, model.parameters())
            logger.debug("mixed with %d after %d vehicles", road.other(self.rank), road.sent)
            road.sent = 0
