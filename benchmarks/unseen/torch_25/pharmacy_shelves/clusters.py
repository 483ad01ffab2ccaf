"""Clusters of clients whose updates point in the same direction (after Sattler et al.)."""
import logging

import torch
import torch.distributed as dist

log = logging.getLogger("clusters")


def similarity(updates):
    """Cosine of the angle between the updates of all pairs of clients."""
    rows = torch.nn.functional.normalize(torch.stack(updates), dim=1)
    return rows @ rows.T


def partition(cosines, threshold):
    """Greedy: a client joins the first cluster to whose founder it is similar enough."""
    clusters = []
    for client in range(len(cosines)):
        for members in clusters:
            if cosines[members[0], client] >= threshold:
                members.append(client)
                break
        else:
            clusters.append([client])
    return clusters


class Clusters:
    def __init__(self, threshold):
        self.threshold = threshold
        self.rank = dist.get_rank()
        self.members = list(range(dist.get_world_size()))
        self.group = None

    def regroup(self, update):
        """Every client learns of all updates, so that all of them find the same clusters."""
        updates = [torch.empty_like(update) for _ in range(dist.get_world_size())]
        dist.all_gather(updates, update)
        clusters = partition(similarity(updates), self.threshold)
        mine = next(members for members in clusters if self.rank in members)
        if mine != self.members:
            log.info("clusters %s", clusters)
            self.members = mine
            self.group = dist.new_group(mine) if len(mine) > 1 else None

    def average(self, weights):
        """The mean over the client's cluster; a client of its own keeps its weights."""
        if len(self.members) == 1:
            return weights
        total = weights.clone()
        dist.all_reduce(total, group=self.group)
        return total / len(self.members)
