"""Stochastic gradients with reduced variance (SVRG), averaged over the processes by hand."""

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def mean_over_ranks(vector):
    dist.all_reduce(vector)
    return vector.div_(dist.get_world_size())


class VarianceReduced:
    """Keeps a reference point and the gradient there, and steps along the corrected difference."""

    def __init__(self, model, loss, lr, refresh, limit):
        self.model, self.loss = model, loss
        self.lr, self.refresh, self.limit = lr, refresh, limit
        self.parameters = list(model.parameters())
        self.reference, self.anchor = None, None
        self.age, self.refreshed = 0, 0

    def gradient(self, batch):
        loss = self.loss(self.model, batch)
        return loss, parameters_to_vector(torch.autograd.grad(loss, self.parameters))

    def set_reference(self, sample):
        self.reference = parameters_to_vector(self.parameters).detach().clone()
        _, gradient = self.gradient(sample)
        self.anchor = mean_over_ranks(gradient)
        self.age, self.refreshed = 0, self.refreshed + 1

    def gradient_at_reference(self, batch):
        here = parameters_to_vector(self.parameters).detach().clone()
        vector_to_parameters(self.reference, self.parameters)
        _, gradient = self.gradient(batch)
        vector_to_parameters(here, self.parameters)
        return gradient

    def step(self, batch, sample, number):
        if number % self.refresh == 0:
            self.set_reference(sample)
        loss, gradient = self.gradient(batch)
        correction = gradient - self.gradient_at_reference(batch)
        if correction.norm() > self.limit:
            self.set_reference(sample)  # too far from the reference
            correction = torch.zeros_like(gradient)
        direction = mean_over_ranks(correction + self.anchor)
        here = parameters_to_vector(self.parameters).detach()
        vector_to_parameters(here - self.lr * direction, self.parameters)
        self.age += 1
        return loss.item()
