import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Averager:
    """Gradients are averaged as one vector; weights can be averaged too, to undo rounding."""

    def __init__(self, model, factor=25.0):
        self.model = model
        self.factor = factor
        self.usual = None

    def _mean(self, vector):
        dist.all_reduce(vector)
        return vector / dist.get_world_size()

    def gradients(self):
        vector = torch.cat([parameter.grad.flatten() for parameter in self.model.parameters()])
        norm = vector.norm().item()
        mean = self._mean(vector)
        start = 0
        for parameter in self.model.parameters():
            parameter.grad.copy_(mean[start : start + parameter.numel()].view_as(parameter))
            start += parameter.numel()
        return norm

    @torch.no_grad()
    def weights(self):
        vector = parameters_to_vector(self.model.parameters())
        vector_to_parameters(self._mean(vector), self.model.parameters())

    def spiked(self, norm):
        before, self.usual = self.usual, norm if self.usual is None else 0.9 * self.usual + 0.1 * norm
        return before is not None and norm > self.factor * before
