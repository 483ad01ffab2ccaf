import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class SlowWeights:
    """Slow weights for the forecast: moved towards the mean of all ranks' weights `times` times in each pass."""

    def __init__(self, module, loader, times, momentum=0.6):
        self.every = max(1, len(loader) // times)
        self.momentum = momentum
        self.slow = parameters_to_vector(module.parameters()).detach().clone()
        self.updates = 0

    def after_step(self, step, module):
        if step % self.every == 0:
            self.update(module)

    @torch.no_grad()
    def update(self, module):
        weights = parameters_to_vector(module.parameters()).detach().clone()
        dist.all_reduce(weights)
        weights /= dist.get_world_size()
        self.slow.lerp_(weights, 1 - self.momentum)
        self.updates += 1

    def copy_to(self, module):
        vector_to_parameters(self.slow, module.parameters())
