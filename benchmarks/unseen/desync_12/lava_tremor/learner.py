import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from stations import SAMPLES


class Learner:
    """A network for one seismometer."""

    def __init__(self, name, width, lr):
        self.name = name
        self.network = DistributedDataParallel(
            nn.Sequential(nn.Linear(SAMPLES, width), nn.LeakyReLU(0.1), nn.Linear(width, 1), nn.Tanh())
        )
        self.optimizer = torch.optim.RMSprop(self.network.parameters(), lr=lr)
        self.criterion = nn.L1Loss()
        self.history = []

    def learn(self, trace, energy, keep):
        """Learns from the windows to be kept; the loss, or None without any."""
        if not keep.any():
            return None
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.network(trace[keep]), energy[keep])
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())
        return loss

    def recent(self, count=50):
        last = self.history[-count:]
        return sum(last) / max(len(last), 1)

    def summary(self):
        return f"{self.name} {self.recent():.4f}"
