"""Successive halving: recipes compete, and after each rung the worst ones drop out."""
import dataclasses
import datetime

import torch
import torch.distributed as dist


@dataclasses.dataclass
class Rung:
    number: int
    steps: int
    drop: int


def ladder(first_steps, drops):
    """Each rung is longer than the one before it, as fewer recipes share the machine."""
    return [Rung(number, int(first_steps * 1.5 ** number), drop) for number, drop in enumerate(drops)]


class Field:
    """The recipes that are still in the competition; each one is trained by the process of its rank."""

    def __init__(self, size):
        self.members = list(range(size))
        self.group = None
        self.scores = {}

    def __contains__(self, rank):
        return rank in self.members

    def compare(self, error):
        """Errors of all remaining recipes, by rank."""
        rows = [torch.zeros(1, dtype=torch.float64) for _ in self.members]
        dist.all_gather(rows, torch.tensor([error], dtype=torch.float64), group=self.group)
        self.scores = {member: row.item() for member, row in zip(self.members, rows)}
        return self.scores

    def cut(self, drop):
        """Takes the worst recipes out."""
        ranking = sorted(self.members, key=self.scores.__getitem__)
        self.members = sorted(ranking[: len(ranking) - drop])
        return ranking[len(ranking) - drop:]

    def gather_for(self, rung):
        """A group of those that are in the rung, with a timeout that suits its length."""
        timeout = datetime.timedelta(minutes=20 + 5 * rung.number)
        self.group = dist.new_group(self.members, timeout=timeout)
