"""Federated rounds: everybody contributes an update, the server at rank 0 applies it with momentum and hands out the model.

The server's momentum exists on rank 0 only, so that the model has to be fetched from there.
"""
import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Federation:
    def __init__(self, model, momentum=0.6, rate=1.0):
        self.model = model
        self.momentum = momentum
        self.rate = rate
        self.served = parameters_to_vector(model.parameters()).detach().clone()
        self.base = self.served.clone()
        self.velocity = torch.zeros_like(self.served)

    @torch.no_grad()
    def contribute(self):
        """Adds this clinic's change of weights since the last fetch to those of the others."""
        change = parameters_to_vector(self.model.parameters()) - self.base
        dist.all_reduce(change)
        if dist.get_rank() == 0:
            self.velocity.mul_(self.momentum).add_(change / dist.get_world_size())
            self.served += self.rate * self.velocity

    @torch.no_grad()
    def fetch(self):
        weights = self.served.clone()
        dist.broadcast(weights, src=0)
        self.base = weights
        vector_to_parameters(weights.clone(), self.model.parameters())


class Clinic:
    """A participant. One that has come off the track begins from the server's model again before it contributes."""

    def __init__(self, federation, optimizer, tolerance):
        self.federation = federation
        self.optimizer = optimizer
        self.tolerance = tolerance
        self.usual = None

    def off_track(self, loss):
        usual, self.usual = self.usual, loss if self.usual is None else 0.8 * self.usual + 0.2 * loss
        return usual is not None and loss > self.tolerance * usual

    def round(self, fit):
        loss = fit()
        if self.off_track(loss):
            self.federation.fetch()
            loss = fit()
            self.federation.contribute()
        else:
            self.federation.contribute()
            self.federation.fetch()
        self.optimizer.state.clear()
        return loss
