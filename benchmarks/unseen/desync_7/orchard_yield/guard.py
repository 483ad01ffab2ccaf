import logging

import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

log = logging.getLogger(__name__)


class Guard:
    """Watches the loss and settles the weights after a run of bad batches.

    Settling takes the mean of the weights over all ranks, in case that one of them has wandered off.
    """

    def __init__(self, module, limit, patience):
        self.module = module
        self.limit, self.patience = limit, patience
        self.bad = 0
        self.settled = 0

    def look(self, loss):
        if loss <= self.limit:
            self.bad = 0
            return
        self.bad += 1
        log.info("bad batch, %d in a row (loss %.2f)", self.bad, loss)
        if self.bad == self.patience:
            self.settle()
            self.bad = 0

    def settle(self):
        weights = parameters_to_vector(self.module.parameters()).detach()
        dist.all_reduce(weights)
        weights /= dist.get_world_size()
        vector_to_parameters(weights, self.module.parameters())
        self.settled += 1
