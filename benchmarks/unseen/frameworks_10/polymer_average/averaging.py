import torch
from torch import nn


class AveragedWeights:
    """Exponential average of the weights of a model, kept in full precision in host memory."""

    def __init__(self, model: nn.Module, decay: float = 0.99):
        self.decay = decay
        self.updates = 0
        self.average = {name: torch.zeros(parameter.shape) for name, parameter in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        for name, parameter in model.named_parameters():
            full = parameter.full_tensor()
            self.average[name].lerp_(full.float(), 1 - self.decay)

    def state_dict(self) -> dict[str, torch.Tensor]:
        bias = 1 - self.decay**self.updates
        return {name: value / bias for name, value in self.average.items()}
