import torch
from torch.nn import functional as F


class EpochRunner:
    def __init__(self, fabric, model, optimizer, clip: float = 1.0):
        self.fabric = fabric
        self.model = model
        self.optimizer = optimizer
        self.clip = clip
        self.unusable = 0

    def run(self, loader):
        """Trains on the loader once; returns the mean loss over all workers."""
        total = torch.zeros(1)
        for trace, arrival in loader:
            loss = F.l1_loss(self.model(trace), arrival)
            if not torch.isfinite(loss):
                self.unusable += 1
                continue
            self.fabric.backward(loss)
            self.fabric.clip_gradients(self.model, self.optimizer, max_norm=self.clip)
            self.optimizer.step()
            self.optimizer.zero_grad()
            total += loss.detach()
        return self.fabric.all_gather(total / len(loader)).mean().item()
