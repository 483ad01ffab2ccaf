"""Curriculum by stages: from stage `hard` on, the ranks with hard material share their difficulty scores."""
from dataclasses import dataclass, field

import torch
import torch.distributed as dist


@dataclass
class Stage:
    name: str
    starts: int
    max_digits: int


# weeks of term that a school is behind the others
LATE_TERM = {3: 6}

STAGES = (Stage("easy", 0, 1), Stage("medium", 15, 2), Stage("hard", 32, 3))


@dataclass
class Curriculum:
    rank: int
    hard_ranks: tuple
    group: object = None
    difficulty: float = 0.0
    history: list = field(default_factory=list)

    def stage(self, step):
        week = max(step - LATE_TERM.get(self.rank, 0), 0)
        return [s for s in STAGES if s.starts <= week][-1]

    def enter(self, stage):
        self.history.append(stage.name)
        if stage.name == "hard" and self.rank in self.hard_ranks:
            self.group = dist.new_group(list(self.hard_ranks))

    def observe(self, loss):
        if self.group is None:
            self.difficulty = loss
            return
        t = torch.tensor([loss])
        dist.all_reduce(t, group=self.group)
        self.difficulty = float(t) / len(self.hard_ranks)
