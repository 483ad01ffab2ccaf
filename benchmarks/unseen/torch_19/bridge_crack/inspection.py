"""What is looked at after an epoch: the losses of all bridges, and the spans that are worst understood."""
import os

import torch
import torch.distributed as dist
from torch import nn

from spans import BRIDGES


class Inspection:
    def __init__(self, folder, validation, batch, maps_from, worst=6):
        self.folder = folder
        self.validation = validation
        self.batch = batch
        self.maps_from = maps_from
        self.worst = worst
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    @torch.no_grad()
    def losses(self, model):
        """Loss of every span of this process' bridge."""
        network = model.eval().module
        parts = [
            nn.functional.binary_cross_entropy_with_logits(network(signal)[:, 0], cracked, reduction="none")
            for signal, cracked in self.validation.batches(self.batch)
        ]
        return torch.cat(parts)

    def table(self, own):
        rows = [torch.zeros(1) for _ in range(self.world)]
        dist.all_gather(rows, own.mean().reshape(1))
        return [row.item() for row in rows]

    def maps(self, model, losses):
        """Where along the signal the answer comes from, by the gradient at the input."""
        hardest = losses.topk(self.worst).indices
        signal = self.validation.signal[hardest].clone().requires_grad_()
        logits = model(signal)
        (gradient,) = torch.autograd.grad(logits.sum(), signal)
        return (gradient * signal).detach().abs()[:, 0]

    def after_epoch(self, model, epoch):
        own = self.losses(model)
        table = self.table(own)
        worst_bridge = max(range(self.world), key=table.__getitem__)
        if epoch >= self.maps_from and worst_bridge == self.rank:
            path = os.path.join(self.folder, f"maps_{epoch}.pt")
            torch.save({"bridge": BRIDGES[self.rank], "maps": self.maps(model, own)}, path)
        mean = torch.tensor([sum(table) / self.world])
        dist.all_reduce(mean, op=dist.ReduceOp.MAX)
        model.train()
        return mean.item()
