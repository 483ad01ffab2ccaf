"""Errors of the forecasts in the nights that matter, those with frost."""
import torch
import torch.distributed as dist


class FrostError:
    """Mean absolute error of the forecasts for nights below the limit, over all orchards."""

    def __init__(self, limit=0.0):
        self.limit = limit
        self.errors = []

    def update(self, forecast, lowest):
        for guess, value in zip(forecast.tolist(), lowest.tolist()):
            if value < self.limit:
                self.errors.append(abs(guess - value))

    def compute(self):
        totals = torch.tensor([sum(self.errors), len(self.errors)])
        dist.all_reduce(totals)
        return (totals[0] / totals[1]).item() if totals[1] else float("nan")

    def reset(self):
        self.errors.clear()


class WarningRate:
    """Share of all nights in which a warning is given."""

    def __init__(self, limit=0.5):
        self.limit = limit
        self.counts = torch.zeros(2)

    def update(self, forecast, lowest):
        self.counts += torch.tensor([(forecast < self.limit).sum().item(), float(len(lowest))])

    def compute(self):
        dist.all_reduce(self.counts)
        return (self.counts[0] / self.counts[1]).item()

    def reset(self):
        self.counts.zero_()


@torch.no_grad()
def evaluate(model, loader, metrics):
    model.eval()
    for readings, lowest in loader:
        forecast = model(readings).squeeze(1)
        for metric in metrics.values():
            metric.update(forecast, lowest)
    figures = {name: metric.compute() for name, metric in metrics.items()}
    for metric in metrics.values():
        metric.reset()
    model.train()
    return figures
