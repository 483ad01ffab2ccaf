"""Figures of the check run over all carriages."""
import logging

import torch
import torch.distributed as dist

log = logging.getLogger("evaluation")


def gather_rows(rows):
    """The rows of all processes, in the order of the ranks. Samplers give every process the same number."""
    parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows)
    return torch.cat(parts)


class CheckRun:
    def __init__(self, model, limit=0.9):
        self.model = model
        self.limit = limit
        self.history = []

    @torch.no_grad()
    def __call__(self, loader):
        self.model.eval()
        rows = []
        for scans, cracks in loader:
            rows.append(torch.stack([self.model(scans)[:, 0], cracks], dim=1))
        self.model.train()
        figures = self.figures(gather_rows(torch.cat(rows)))
        self.history.append(figures)
        return figures

    def figures(self, rows):
        predicted, measured = rows.unbind(1)
        error = predicted - measured
        found = ((predicted > self.limit) & (measured > self.limit)).sum()
        return {
            "rings": len(rows),
            "rmse": error.square().mean().sqrt().item(),
            "bias": error.mean().item(),
            "recall": (found / (measured > self.limit).sum().clamp(min=1)).item(),
        }
