"""The closing examination: the lines are dealt out to the processes."""

from datetime import timedelta

import torch
import torch.distributed as dist

LINES = {"harbour": 0.4, "hill": 1.1}


def wheels(name, count, inputs):
    g = torch.Generator().manual_seed(sum(map(ord, name)))
    return LINES[name] * torch.randn(count, inputs, generator=g)


@torch.no_grad()
def judge(model, name, count, inputs):
    """Mean and worst predicted wear of a line's wheels."""
    wear = model(wheels(name, count, inputs)).squeeze(-1)
    return wear.mean().item(), wear.max().item()


class Panel:
    """Collects what the judges found; in a group of its own, as judging may take longer than a step of training."""

    def __init__(self, patience=timedelta(hours=2)):
        self.group = dist.new_group(timeout=patience)

    def compare(self, own):
        figures = [None] * dist.get_world_size(self.group)
        dist.all_gather_object(figures, own, group=self.group)
        return {name: values for found in figures for name, values in found.items()}


def examine(accelerator, model, count, inputs):
    """Figures of all lines by name; nothing in a process that has no line to judge."""
    mine = sorted(LINES)[accelerator.process_index :: accelerator.num_processes]
    if not mine:
        return {}
    panel = Panel()
    bare = accelerator.unwrap_model(model)
    return panel.compare({name: judge(bare, name, count, inputs) for name in mine})
