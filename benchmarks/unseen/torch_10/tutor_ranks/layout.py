"""Which ranks train, and which one answers for the quality of the student's texts."""

import datetime
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class Layout:
    learners: list
    judge: int
    group: object = None
    reports: object = None

    @property
    def learns(self):
        return dist.get_rank() in self.learners


def make_layout(judge):
    world = dist.get_world_size()
    layout = Layout([r for r in range(world) if r != judge], judge)
    if layout.learns:
        layout.group = dist.new_group(layout.learners)
    layout.reports = dist.new_group(timeout=datetime.timedelta(hours=2))
    return layout


def share_vocabulary(words):
    """The vocabulary of rank 0, as every rank needs the same token ids."""
    box = [words]
    dist.broadcast_object_list(box, src=0)
    return {word: number for number, word in enumerate(box[0])}


def as_ids(text, vocabulary):
    return torch.tensor([vocabulary[word] for word in text])
