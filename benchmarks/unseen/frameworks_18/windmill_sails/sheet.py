"""A sheet with the condition of the weights, for the engineer on duty."""

import logging
from pathlib import Path

import deepspeed
import torch

log = logging.getLogger("sheet")


class ConditionSheet:
    """Appends a line per matrix to a text file: its norm, its largest entry and its effective rank.

    Between two steps the parameters are partitioned, so they are gathered for the time of the reading.
    """

    def __init__(self, path, rank, every):
        self.path = Path(path)
        self.rank = rank
        self.every = every
        self.pages = 0

    def due(self, step):
        return step > 0 and step % self.every == 0

    def write(self, network, step):
        if self.rank != 0:
            return
        lines = [f"step {step}"]
        for name, weight in network.named_parameters():
            if name.endswith("weight"):
                lines.append(self.describe(name, weight))
        with self.path.open("a") as out:
            out.write("\n".join(lines) + "\n")
        self.pages += 1
        log.info("page %d written", self.pages)

    def describe(self, name, weight):
        with deepspeed.zero.GatheredParameters(weight):
            full = weight.detach().float()
            norm, peak = full.norm().item(), full.abs().max().item()
            values = torch.linalg.svdvals(full)
        spread = (values.sum() / values.max()).item()
        return f"{name:24} norm {norm:8.3f}  peak {peak:7.3f}  rank {spread:6.2f}"
