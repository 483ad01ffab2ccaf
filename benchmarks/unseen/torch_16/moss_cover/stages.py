"""Gradual unfreezing: the head is trained first, the encoder joins when the head has learned what it can."""
import logging

from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("moss")


class CoverNet(nn.Module):
    def __init__(self, bands, width):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(bands, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, bands):
        return self.head(self.encoder(bands)).squeeze(-1)


class Plateau:
    """True when a value has not fallen by the given share for some epochs."""

    def __init__(self, patience, share):
        self.patience = patience
        self.share = share
        self.best = float("inf")
        self.stale = 0

    def reached(self, value):
        if value < self.best * (1.0 - self.share):
            self.best, self.stale = value, 0
        else:
            self.stale += 1
        return self.stale >= self.patience


class Stages:
    def __init__(self, net, plateau):
        self.net = net
        self.plateau = plateau
        self.frozen = True
        self.net.encoder.requires_grad_(False)
        self.model = self.wrap()

    def wrap(self):
        """DDP registers the parameters that need gradients when it is made, hence a new one for each stage."""
        return DDP(self.net)

    def end_epoch(self, epoch, error):
        """Returns True if the set of trained parameters has changed."""
        if not self.frozen or not self.plateau.reached(error):
            return False
        log.info("encoder joins after epoch %d (validation error %.4f)", epoch, error)
        self.net.encoder.requires_grad_(True)
        self.frozen = False
        self.model = self.wrap()
        return True
