"""Mean absolute errors by class of stone, over the pads of all workers."""

import torch
from torchmetrics import MeanAbsoluteError

from pads import CLASSES, kind


class ClassErrors:
    def __init__(self):
        self.metrics = {name: MeanAbsoluteError() for name in CLASSES}

    def reset(self):
        for metric in self.metrics.values():
            metric.reset()

    @torch.no_grad()
    def update(self, predicted, sizes):
        kinds = kind(sizes)
        for number, name in enumerate(CLASSES):
            chosen = kinds == number
            if chosen.any():
                self.metrics[name].update(predicted[chosen], sizes[chosen])

    def compute(self):
        """The errors; torchmetrics warns of metrics that were never updated, these are left out."""
        results = {}
        for name, metric in self.metrics.items():
            if metric.update_called:
                results[name] = metric.compute().item()
        return results


def show(results):
    return ", ".join(f"{name} {value:.2f} mm" for name, value in results.items())
