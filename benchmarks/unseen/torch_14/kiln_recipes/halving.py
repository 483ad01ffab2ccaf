"""Successive halving: after each rung the worst recipe leaves."""
import torch
import torch.distributed as dist


class Rung:
    """The processes that are still in the competition, and the group in which they talk."""

    def __init__(self, members, group=None, number=0):
        self.members = members
        self.group = group
        self.number = number

    def __repr__(self):
        return f"rung {self.number} of processes {', '.join(map(str, self.members))}"

    def standings(self, loss):
        """Pairs of loss and rank, the best one first; the same on all members."""
        own = torch.tensor([loss])
        if len(self.members) == 1:
            return [(loss, self.members[0])]
        losses = [torch.zeros(1) for _ in self.members]
        dist.all_gather(losses, own, group=self.group)
        return sorted((value.item(), member) for value, member in zip(losses, self.members))

    def average(self, parameters):
        """Members share what they have learnt of the common encoder."""
        for parameter in parameters:
            dist.all_reduce(parameter.data, group=self.group)
            parameter.data /= len(self.members)

    def leader(self, standings):
        return standings[0][1]

    def next(self, standings):
        """The rung after this one, without the last of the standings."""
        survivors = sorted(member for _, member in standings[:-1])
        group = dist.new_group(survivors)
        if dist.get_rank() not in survivors:
            return None
        return Rung(survivors, group, self.number + 1)
