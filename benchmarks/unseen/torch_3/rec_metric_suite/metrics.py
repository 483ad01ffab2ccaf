"""Streaming ranking metrics. Every metric keeps (numerator, denominator) and can be synchronised."""
from abc import ABC, abstractmethod

import torch
import torch.distributed as dist


class Metric(ABC):
    def __init__(self):
        self.state = torch.zeros(2, dtype=torch.float64)

    @abstractmethod
    def update(self, scores, clicked):
        ...

    def sync(self):
        dist.all_reduce(self.state)
        return self

    def compute(self):
        return (self.state[0] / self.state[1].clamp(min=1)).item()


class Recall(Metric):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def update(self, scores, clicked):
        top = scores.topk(self.k, dim=1).indices
        self.state[0] += (top == clicked[:, None]).any(1).sum()
        self.state[1] += len(clicked)


class MRR(Metric):
    def update(self, scores, clicked):
        own = scores.gather(1, clicked[:, None])
        rank = (scores > own).sum(1) + 1
        self.state[0] += (1.0 / rank).sum()
        self.state[1] += len(clicked)


class SegmentedSuite:
    """One set of metrics per user segment, created when the segment first turns up."""

    def __init__(self, factories):
        self.factories = factories
        self.segments = {}

    def update(self, segments, scores, clicked):
        for segment in segments.unique().tolist():
            rows = segments == segment
            if segment not in self.segments:
                self.segments[segment] = {n: make() for n, make in self.factories.items()}
            for metric in self.segments[segment].values():
                metric.update(scores[rows], clicked[rows])

    def compute(self):
        out = {}
        for segment in sorted(self.segments):
            for name, metric in self.segments[segment].items():
                out[f"{name}/segment{segment}"] = metric.sync().compute()
        return out
