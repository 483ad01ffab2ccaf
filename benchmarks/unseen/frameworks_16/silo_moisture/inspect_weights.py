"""What the engineers of the silo want to see of the model now and then."""

import logging

import deepspeed
import torch

log = logging.getLogger("weights")


class SensorReport:
    """Importance of the sensors: norms of the columns of the first layer."""

    def __init__(self, names, every):
        self.names = names
        self.every = every
        self.history = []

    def due(self, epoch):
        return epoch > 0 and epoch % self.every == 0

    def importance(self, layer):
        # the weight is partitioned by ZeRO-3 and is put together for the time of the block
        with deepspeed.zero.GatheredParameters([layer.weight]):
            return layer.weight.detach().float().norm(dim=0).clone()

    def write(self, epoch, layer):
        norms = self.importance(layer)
        best = torch.topk(norms, 3).indices.tolist()
        self.history.append((epoch, norms))
        log.info("epoch %d: %s", epoch, ", ".join(f"{self.names[i]} {norms[i]:.3f}" for i in best))

    def rank_of(self, name):
        """Place of a sensor in the last report, from 0."""
        order = self.history[-1][1].argsort(descending=True).tolist()
        return order.index(self.names.index(name))

    def drift(self):
        """How much the importances have changed between the last two reports."""
        if len(self.history) < 2:
            return 0.0
        return (self.history[-1][1] - self.history[-2][1]).abs().max().item()
